// The monitored collections and the newest timestamp of the records of each.
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../base/json.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import type { Reader } from '../../engine/unit-of-work.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { RedirectOptions } from './caching.ts';
import type { changesSettings } from './settings.ts';

/** The parts that the endpoints of the plugin share. */
export interface ChangesService {
  readonly host: PluginHost;
  readonly values: ValuesOf<typeof changesSettings>;
  readonly findEntries: (reader: Reader) => Promise<readonly MonitoredEntry[]>;
  readonly redirects: RedirectOptions;
}

/** A monitored collection as the list of changes returns it. */
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

/** URI of a bucket or a collection. */
const uriForm = /^\/buckets\/([^/]+)(?:\/collections\/([^/]+))?$/;

/**
 * Returns a function that reads the existing monitored collections whose records have a timestamp.
 *
 * @throws Error for a setting that is not the URI of a bucket or collection
 */
export function createMonitor({
  resources,
  excluded,
  host,
}: MonitoredOptions): (reader: Reader) => Promise<readonly MonitoredEntry[]> {
  for (const uri of resources)
    if (!uriForm.test(uri)) throw new Error(`changes.resources: ${uri} is not the URI of a bucket or collection.`);
  const included = new Set(resources);
  const excludedUris = new Set(excluded);
  return async ({ storage }) => {
    const clocks = await storage.allResourceTimestamps('record');
    const found = Array.from(clocks, async ([uri, timestamp]): Promise<MonitoredEntry | undefined> => {
      const [, bucket = '', collection = ''] = uriForm.exec(uri) ?? [];
      if (!(included.has(uri) || included.has(`/buckets/${bucket}`)) || excludedUris.has(uri)) return undefined;
      // The timestamp of a list remains after the collection is deleted.
      if (
        (await storage.get({ kind: 'collection', parent: uriBelow('', 'buckets', bucket) }, collection)) === undefined
      )
        return undefined;
      return { id: entryId(host, uri), last_modified: timestamp, bucket, collection, host };
    });
    return (await Promise.all(found)).filter((entry) => entry !== undefined);
  };
}

/** Returns the id of an entry, which depends only on host and collection, so that all servers return the same. */
function entryId(host: string, uri: string): string {
  const hex = createHash('md5')
    .update(host + uri)
    .digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Returns the newest timestamp, or `undefined` without entries. */
export function newestTimestamp(entries: readonly MonitoredEntry[]): number | undefined {
  return entries.length === 0 ? undefined : Math.max(...entries.map((entry) => entry.last_modified));
}
