// A service that is restored from a backup of its file: collections have documents that it lost, and lack others that are back.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Collection as Records } from '@coffer/client';
import { Restorable, restoreCases } from '../restorable.ts';
import { contentOf, converged, errorsOf, until, World, type Stored, type Todos } from './support.ts';

describe('A replication with a service that is restored', () => {
  let world: World;
  let restorable: Restorable;
  let list: Records<Stored>;
  let todos: Todos;
  beforeEach(async () => {
    restorable = new Restorable();
    world = await World.start(restorable.backend.start);
    list = await world.newList();
    for (const id of ['changed', 'deleted', 'other']) await list.put(id, { title: 'old' });
    restorable.backUp();
    todos = await world.open();
  });
  afterEach(() => world.close());

  /** Changes the list after the backup. */
  async function change(): Promise<void> {
    await list.patch('changed', { title: 'later' });
    await list.delete('deleted');
    await list.put('lost', { title: 'later' });
  }

  it.each(restoreCases)('while it is live, %s, takes its state', async (_, { resync, aheadMs }) => {
    restorable.aheadMs = aheadMs;
    const state = world.replicate(todos, list);
    errorsOf(state);
    await state.awaitInitialReplication();
    await change();
    await converged(todos, list);
    await restorable.restore({ resync });
    await until(
      async () =>
        Object.keys(await contentOf(todos))
          .toSorted()
          .join() === 'changed,deleted,other',
    );
    await converged(todos, list);
    expect((await contentOf(todos))['changed']).toMatchObject({ title: 'old' });
    await (await todos.findOne('other').exec(true)).incrementalPatch({ done: true });
    await until(async () => (await list.get('other'))['done']);
  });

  it.each(restoreCases)('while it is offline, %s, sends what was written here', async (_, { resync, aheadMs }) => {
    restorable.aheadMs = aheadMs;
    await change();
    await world.once(todos, list);
    await (await todos.findOne('other').exec(true)).patch({ title: 'mine' });
    await (await todos.findOne('lost').exec(true)).patch({ title: 'mine' });
    await todos.insert({ id: 'new', title: 'mine' });
    await restorable.restore({ resync });
    if (resync) await list.put('after', { title: 'written before the client is back' });
    const state = world.replicate(todos, list);
    await converged(todos, list);
    await state.awaitInSync();
    const { after: _after, ...content } = await contentOf(todos);
    // A record that the service has lost counts as deleted: the default handler takes the state of the service.
    expect(content).toEqual({
      changed: { id: 'changed', title: 'old' },
      deleted: { id: 'deleted', title: 'old' },
      new: { id: 'new', title: 'mine' },
      other: { id: 'other', title: 'mine' },
    });
  });
});
