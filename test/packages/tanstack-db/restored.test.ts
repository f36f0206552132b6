// A service that is restored from a backup of its file: clients have rows that it lost, and lack rows that are back.
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createLiveQueryCollection, gte } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inExtent } from '../../support/extent.ts';
import { Restorable, restoreCases } from '../restorable.ts';
import { closeDevices, Device } from './device.ts';
import { memoryDriver, persistedIn } from './persisted.ts';
import { fill, startWorld, until, type Item, type Items, type World } from './support.ts';

let world: World;
let restorable: Restorable;
beforeEach(async () => {
  for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
  restorable = new Restorable();
  world = await startWorld(restorable.backend);
});
afterEach(async () => {
  await closeDevices();
  await world.close();
});

const initial = ['changed', 'deleted', 'other'].map((id) => ({ id, n: 1, name: 'old' }));

/** Follows the list while others change it after the backup. Returns a query with all rows. */
async function follow(items: Items, aheadMs: number) {
  const query = createLiveQueryCollection((q) => q.from({ item: items }).where(({ item }) => gte(item.n, 0)));
  await query.preload();
  restorable.aheadMs = aheadMs;
  await world.records.patch('changed', { n: 20 });
  await world.records.delete('deleted');
  await fill(world, [{ id: 'lost', n: 2 }]);
  await until(() => query.size === 3 && query.has('lost') && query.get('changed')?.n === 20);
  return query;
}

/** Waits until the rows are those of the list. Returns `n` and `name` by id. */
async function converged(rows: { values(): Iterable<Partial<Item>> }): Promise<object> {
  const contentOf = (all: Iterable<Partial<Item>>): object =>
    Object.fromEntries([...all].map(({ id, n, name }) => [id!, [n, name]]));
  for (;;) {
    const [here, there] = [contentOf(rows.values()), contentOf((await world.records.list().all()).data)];
    if (isDeepStrictEqual(here, there)) return here;
    await setImmediate();
  }
}

const modes = ['eager', 'on-demand', 'progressive'] as const;

describe.each(inExtent<readonly (typeof modes)[number][]>(['eager'], modes))(
  'a service is restored, %s,',
  (syncMode) => {
    it.each(restoreCases)(
      '%s: the copy is that of the service, and edits of the outbox arrive',
      async (_, { resync, aheadMs }) => {
        await fill(world, initial);
        restorable.backUp();
        const device = await Device.start(world, { config: { syncMode } });
        const { items, change, stored } = device;
        const query = await follow(items, aheadMs);
        device.goOffline();
        const edits = [
          change(() => void items.update('other', (draft) => void (draft.name = 'mine'))),
          change(() => void items.update('changed', (draft) => void (draft.name = 'mine'))),
          change(() => void items.update('lost', (draft) => void (draft.name = 'mine'))),
          change(() => void items.insert({ id: 'new', n: 3 })),
        ];
        await until(() => stored.size === 4);
        await restorable.restore({ resync });
        device.goOnline();
        await Promise.all(edits);
        // A record that the service has lost counts as deleted, which an edit does not undo when it merges.
        expect(await converged(query)).toEqual({
          changed: [1, 'mine'],
          deleted: [1, 'old'],
          new: [3, undefined],
          other: [1, 'mine'],
        });
        await world.records.patch('other', { n: 5 });
        await until(() => query.get('other')?.n === 5);
      },
    );
  },
);

describe('a persisted collection', () => {
  it.each(restoreCases)('of a service that was restored while it was closed, %s', async (_, { resync, aheadMs }) => {
    await fill(world, initial);
    restorable.backUp();
    const driver = memoryDriver();
    const first = persistedIn(driver, world);
    await follow(first, aheadMs);
    await first.cleanup();
    await restorable.restore({ resync });
    // After a resync, also if something was written before the client comes back.
    if (resync) await world.records.patch('other', { n: 4 });
    const second = persistedIn(driver, world);
    await second.preload();
    expect(await converged(second)).toEqual({
      changed: [1, 'old'],
      deleted: [1, 'old'],
      other: [resync ? 4 : 1, 'old'],
    });
    await second.cleanup();
  });
});
