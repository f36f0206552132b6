// Which collections are monitored, and when the records of each changed last.
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../base/json.ts';
import type { Reader } from '../../engine/unit-of-work.ts';

/** A monitored collection as the list of changes shows it. */
export interface MonitoredEntry extends JsonObject {
  readonly id: string;
  readonly last_modified: number;
  readonly bucket: string;
  readonly collection: string;
  readonly host: string;
}

export interface MonitoredOptions {
  /** URIs of buckets and collections. */
  readonly resources: readonly string[];
  /** URIs of collections. */
  readonly excluded: readonly string[];
  readonly host: string;
}

/** Address of a collection, with or without the part of it that names a collection. */
const uriForm = /^\/buckets\/([^/]+)(?:\/collections\/([^/]+))?$/;

/**
 * A function that reads the monitored collections that exist and whose records have a timestamp.
 *
 * @throws Error for a setting that names something else than buckets and collections
 */
export function createMonitor({
  resources,
  excluded,
  host,
}: MonitoredOptions): (reader: Reader) => Promise<readonly MonitoredEntry[]> {
  for (const uri of resources)
    if (!uriForm.test(uri)) throw new Error(`changes.resources: ${uri} is no bucket or collection.`);
  const included = new Set(resources);
  const excludedUris = new Set(excluded);
  return async ({ storage }) => {
    const clocks = await storage.allResourceTimestamps('record');
    const found = Array.from(clocks, async ([uri, timestamp]): Promise<MonitoredEntry | undefined> => {
      const [, bucket = '', collection = ''] = uriForm.exec(uri) ?? [];
      if (!(included.has(uri) || included.has(`/buckets/${bucket}`)) || excludedUris.has(uri)) return undefined;
      // The clock of a list outlives the collection.
      if ((await storage.get({ kind: 'collection', parent: `/buckets/${bucket}` }, collection)) === undefined)
        return undefined;
      return { id: entryId(host, uri), last_modified: timestamp, bucket, collection, host };
    });
    return (await Promise.all(found)).filter((entry) => entry !== undefined);
  };
}

/** The same collection on the same host has the same id, on every server. */
function entryId(host: string, uri: string): string {
  const hex = createHash('md5')
    .update(host + uri)
    .digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** When any of them changed last; `undefined` when there are none. */
export function newestTimestamp(entries: readonly MonitoredEntry[]): number | undefined {
  return entries.length === 0 ? undefined : Math.max(...entries.map((entry) => entry.last_modified));
}
