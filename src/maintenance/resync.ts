// Telling every client to synchronise anew, after a backup was restored: what they saw after it was made is not there any
// more, and nothing in the data says so.
import { systemClock, type Clock } from '../base/clock.ts';
import type { StorageReader } from '../contracts/storage.ts';
import { isTombstone, type ListKey } from '../core/objects/stored.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { walkEntries, walkLists } from './walk.ts';
import { writeWithRetry, withBackends } from './units.ts';

/** Lists that one unit of work moves on: nobody waits for long. */
const listsAtOnce = 20;

/**
 * Moves clock and horizon of every list on to this moment, or past the clock where that is ahead. Whoever has seen any of
 * them before is told that it cannot be brought up to date.
 *
 * @returns how many lists there are
 */
export function resyncAll(settings: Settings, clock: Clock = systemClock): Promise<number> {
  return withBackends(settings, async (backends) => {
    let count = 0;
    let some: ListKey[] = [];
    for await (const list of findLists(backends.storage.reader)) {
      some.push(list);
      count++;
      if (some.length < listsAtOnce) continue;
      await moveOn(backends, some, clock);
      some = [];
    }
    await moveOn(backends, some, clock);
    return count;
  });
}

/**
 * All lists that there are, and those of collections and buckets that nobody had used when the backup was made: they are
 * kept from their first use on.
 */
async function* findLists(reader: StorageReader): AsyncGenerator<ListKey> {
  for await (const { kind, parent } of walkLists(reader)) yield { kind, parent };
  for await (const { kind, parent } of walkLists(reader)) {
    const below = kind === 'bucket' ? ['collection', 'group'] : kind === 'collection' ? ['record'] : [];
    if (below.length === 0) continue;
    for await (const entry of walkEntries(reader, { kind, parent })) {
      if (isTombstone(entry)) continue;
      const uri = `${parent}/${kind}s/${entry.id}`;
      for (const other of below) {
        if (!(await isKept(reader, { kind: other, parent: uri }))) yield { kind: other, parent: uri };
      }
    }
  }
}

async function isKept(reader: StorageReader, list: ListKey): Promise<boolean> {
  return (await reader.resourceTimestamp(list)) !== undefined;
}

function moveOn(backends: OpenBackends, lists: readonly ListKey[], clock: Clock): Promise<void> {
  return writeWithRetry(backends, async ({ storage }) => {
    for (const list of lists) {
      const { timestamp = 0 } = await storage.lock(list);
      const moment = Math.max(clock.now(), timestamp + 1);
      await storage.restore(list, { clock: moment, horizon: moment, entries: [] });
    }
  });
}
