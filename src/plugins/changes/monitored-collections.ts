// The monitored collections and the newest timestamp of the records of each.
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../base/json.ts';
import { storedParent, uriBelow, type ListParent } from '../../core/objects/uris.ts';
import type { Context } from '../../engine/context.ts';
import { roomFor } from '../../engine/stored-work.ts';
import { walkIds } from '../../engine/walk.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { RedirectOptions } from './caching.ts';
import type { changesSettings } from './settings.ts';

/** The parts that the endpoints of the plugin share. */
export interface ChangesService {
  readonly host: PluginHost;
  readonly values: ValuesOf<typeof changesSettings>;
  readonly findEntries: (context: Context) => Promise<readonly MonitoredEntry[]>;
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

/** The parts of an entry that stay the same. */
type MonitoredPlace = Pick<MonitoredEntry, 'id' | 'bucket' | 'collection'>;

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
}: MonitoredOptions): (context: Context) => Promise<readonly MonitoredEntry[]> {
  const monitored = resources.map((uri) => {
    const [, bucket, collection] = uriForm.exec(uri) ?? [];
    if (bucket === undefined) throw new Error(`changes.resources: ${uri} is not the URI of a bucket or collection.`);
    return { bucket, collection };
  });
  const hidden = new Set(excluded.map(storedParent));
  // Kept from one request to the next: computing all ids anew took most of the time of a poll.
  let known: ReadonlyMap<ListParent, MonitoredPlace> = new Map();
  return async (context) => {
    const { storage } = context.unit.reader;
    const room = roomFor(context, 'show');
    const found = new Map<ListParent, MonitoredPlace>();
    // Not the clocks of all lists: a service may have very many that are not monitored.
    for (const { bucket, collection } of monitored) {
      const parent = uriBelow('', 'buckets', bucket);
      const ids = collection === undefined ? undefined : [collection];
      for await (const id of walkIds(storage, { kind: 'collection', parent }, { filters: [], ids }, room)) {
        const uri = uriBelow(parent, 'collections', id);
        if (hidden.has(uri)) continue;
        found.set(uri, known.get(uri) ?? { id: entryId(host, uri), bucket, collection: id });
      }
    }
    const lists = [...found.keys()].map((parent) => ({ kind: 'record', parent }));
    const { clocks } = await storage.clocks(lists);
    known = found;
    return [...found.values()].flatMap(({ id, bucket, collection }, index) => {
      const timestamp = clocks[index];
      return timestamp === undefined ? [] : [{ id, last_modified: timestamp, bucket, collection, host }];
    });
  };
}

/** Returns the id of an entry, which depends only on host and collection, so that all servers return the same. */
function entryId(host: string, uri: string): string {
  const hex = createHash('md5')
    .update(host + uri)
    .digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Time by which a timestamp may be ahead of the clock: lists with very many writes are, and clocks of processes differ. */
const maxAheadMs = 60_000;

/**
 * Returns the newest timestamp, from which clients continue; the time without entries. Timestamps that clients have set to a
 * later time do not count: the changes of all other collections would be before them, and be missed. Clients get the entries
 * with these timestamps every time.
 */
export function newestTimestamp(entries: readonly MonitoredEntry[], now: number): number {
  let newest = -1;
  for (const { last_modified } of entries) {
    if (last_modified > newest && last_modified <= now + maxAheadMs) newest = last_modified;
  }
  return newest < 0 ? now : newest;
}
