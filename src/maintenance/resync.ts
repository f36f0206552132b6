// Makes every client synchronise from scratch after a backup was restored. Clients may have seen changes that the backup does
// not contain, and the data does not show which.
import { systemClock, type Clock } from '../base/clock.ts';
import type { StorageReader } from '../contracts/storage.ts';
import { isTombstone, type ListKey } from '../core/objects/stored.ts';
import { storedUri } from '../core/objects/uris.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { walkEntries, walkLists } from './walk.ts';
import { withBackends, write } from './units.ts';

/** Lists that one unit of work changes, which holds their locks for a short time only. */
const listsPerUnit = 20;

/**
 * Moves the clock and the horizon of every list to the present, or past the clock where that is ahead. Clients with an
 * older state must then synchronise from scratch.
 *
 * @returns the number of lists
 */
export function resyncAll(settings: Settings, clock: Clock = systemClock): Promise<number> {
  return withBackends(settings, async (backends) => {
    let count = 0;
    let batch: ListKey[] = [];
    for await (const list of findLists(backends.storage.reader)) {
      batch.push(list);
      count++;
      if (batch.length < listsPerUnit) continue;
      await advance(backends, batch, clock);
      batch = [];
    }
    await advance(backends, batch, clock);
    return count;
  });
}

/**
 * Yields all lists, and those of collections and buckets that were unused when the backup was made: a list is stored from
 * its first use on.
 */
async function* findLists(reader: StorageReader): AsyncGenerator<ListKey> {
  for await (const { kind, parent } of walkLists(reader)) yield { kind, parent };
  for await (const { kind, parent } of walkLists(reader)) {
    const below = kind === 'bucket' ? ['collection', 'group'] : kind === 'collection' ? ['record'] : [];
    if (below.length === 0) continue;
    for await (const entry of walkEntries(reader, { kind, parent })) {
      if (isTombstone(entry)) continue;
      const uri = storedUri(`${parent}/${kind}s/${entry.id}`);
      for (const other of below) {
        if (!(await isKept(reader, { kind: other, parent: uri }))) yield { kind: other, parent: uri };
      }
    }
  }
}

async function isKept(reader: StorageReader, list: ListKey): Promise<boolean> {
  return (await reader.resourceTimestamp(list)) !== undefined;
}

function advance(backends: OpenBackends, lists: readonly ListKey[], clock: Clock): Promise<void> {
  return write(backends, async ({ storage }) => {
    for (const list of lists) {
      const { timestamp = 0 } = await storage.lock(list);
      const moment = Math.max(clock.now(), timestamp + 1);
      await storage.restore(list, { clock: moment, horizon: moment, entries: [] });
    }
  });
}
