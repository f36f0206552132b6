// The monitored collections and the newest timestamp of the records of each.
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import { storedParent, uriBelow, type ListParent } from '../../core/objects/uris.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Context } from '../../engine/context.ts';
import type { Change } from '../../engine/events/event.ts';
import { roomFor } from '../../engine/stored-work.ts';
import { readOrder, type Reached } from '../../engine/timestamp-order.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { walkIds } from '../../engine/walk.ts';

/** A monitored collection as the list of changes returns it. */
export interface MonitoredEntry extends JsonObject {
  readonly id: string;
  readonly last_modified: number;
  readonly bucket: string;
  readonly collection: string;
  readonly host: string;
}

export interface MonitoredChanges extends Reached {
  /** An entry for each existing monitored collection whose records have a timestamp. */
  readonly entries: readonly MonitoredEntry[];
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

export interface Monitor {
  readonly readChanges: (context: Context) => Promise<MonitoredChanges>;
  /** Returns whether a list is that of the records of a monitored collection. */
  readonly includes: (list: ListKey) => boolean;
}

/** @throws Error for a setting that is not the URI of a bucket or collection */
export function createMonitor({ resources, excluded, host }: MonitoredOptions): Monitor {
  const monitored = resources.map((uri) => {
    const [, bucket, collection] = uriForm.exec(uri) ?? [];
    if (bucket === undefined) throw new Error(`changes.resources: ${uri} is not the URI of a bucket or collection.`);
    return { bucket, collection };
  });
  const hidden = new Set(excluded.map(storedParent));
  // Kept from one request to the next: computing all ids anew took most of the time of a poll.
  let known: ReadonlyMap<ListParent, MonitoredPlace> = new Map();
  const uris = new Set<string>(resources);
  const includes = ({ kind, parent }: ListKey): boolean => {
    if (kind !== 'record' || hidden.has(parent)) return false;
    return uris.has(parent) || uris.has(parent.split('/collections/', 1)[0]!);
  };
  const readChanges = async (context: Context): Promise<MonitoredChanges> => {
    const { storage } = context.unit.reader;
    // Before the clocks: later changes may be missing among them.
    const reading = readOrder(storage, context.now);
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
    const reached = await reading;
    const { clocks } = await storage.clocks(lists);
    known = found;
    const entries = [...found.values()].flatMap(({ id, bucket, collection }, index) => {
      const timestamp = clocks[index];
      return timestamp === undefined ? [] : [{ id, last_modified: timestamp, bucket, collection, host }];
    });
    return { entries, ...reached };
  };
  return { readChanges, includes };
}

/**
 * Gives the lists of records of collections that existed before new timestamps: followers still have the records from before the
 * deletion, and have seen later timestamps of other collections.
 */
export async function renewClocks(
  { includes }: Pick<Monitor, 'includes'>,
  clock: Clock,
  created: readonly Change[],
  unit: UnitOfWork,
): Promise<void> {
  for (const { uri, isByService } of created) {
    const list = { kind: 'record', parent: uri };
    // What the service creates may be signed already, with its timestamp.
    if (isByService === true || !includes(list)) continue;
    const { storage } = await unit.writer();
    const timestamp = await storage.resourceTimestamp(list);
    if (timestamp !== undefined) await storage.touch(list, Math.max(clock.now(), timestamp + 1));
  }
}

/** Returns the id of an entry, which depends only on host and collection, so that all servers return the same. */
function entryId(host: string, uri: string): string {
  const hex = createHash('md5')
    .update(host + uri)
    .digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/**
 * Returns the newest timestamp of the entries, from which clients continue; without entries, the time. Entries after the
 * timestamp up to which the changes are complete do not count: clients get them again, with those that were missing.
 */
export function newestTimestamp(changes: MonitoredChanges, now: number): number {
  const { entries, completeTo, sharedClock } = changes;
  // An entry that does not count may have counted with an earlier timestamp, which the clock has passed.
  let newest = isComplete(changes) ? 0 : sharedClock;
  for (const { last_modified } of entries) {
    if (last_modified > newest && last_modified <= completeTo) newest = last_modified;
  }
  return newest === 0 ? Math.min(now, completeTo) : newest;
}

/** Whether all entries count for the newest timestamp. */
export function isComplete({ entries, completeTo }: MonitoredChanges): boolean {
  return entries.every(({ last_modified }) => last_modified <= completeTo);
}
