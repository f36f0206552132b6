// Telling every client to synchronise anew, after a backup was restored: what they saw after it was made is not there any
// more, and nothing in the data says so.
import { systemClock, type Clock } from '../base/clock.ts';
import type { ListState } from '../contracts/storage.ts';
import type { Settings } from '../settings/settings.ts';
import { walkLists } from './copy/walk.ts';
import { insist, withBackends } from './maintenance.ts';

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
    let lists: ListState[] = [];
    const move = async (): Promise<void> => {
      const some = lists;
      lists = [];
      await insist(backends, async ({ storage }) => {
        for (const { kind, parent } of some) {
          const { timestamp = 0 } = await storage.lock({ kind, parent });
          const moment = Math.max(clock.now(), timestamp + 1);
          await storage.restore({ kind, parent }, { clock: moment, horizon: moment, entries: [] });
        }
      });
      count += some.length;
    };
    for await (const list of walkLists(backends.storage.reader)) {
      lists.push(list);
      if (lists.length === listsAtOnce) await move();
    }
    await move();
    return count;
  });
}
