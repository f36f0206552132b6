// Replication by users with the permission to create records, who have permissions on their own records only. The permissions of a
// record are deleted with it: a later request for it gets 403, as for a record of others.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { inExtent } from '../../support/extent.ts';
import { SwitchedFetch } from '../switched-fetch.ts';
import { backendNamed, contentOf, converged, errorsOf, until, World } from './support.ts';

const backends = inExtent(['memory'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('A user with rights on own records only, with a service on %s,', (backend) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(backendNamed(backend).start);
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  /** Replicates a list in which the user has created two records. */
  async function start() {
    const { path } = await world.newList();
    const other = world.clientOf('bob');
    const user = (await other.info()).user!.id;
    const collections = world.client.bucket('b').collections;
    await collections.permissions(path.split('/').at(-2)!).add({ 'record:create': [user] });
    const network = new SwitchedFetch();
    let isLost = false;
    const client = world.clientOf('bob', {
      fetch: async (input, init) => {
        const response = await network.fetch(input, init);
        if (init?.method !== 'DELETE' || isLost) return response;
        isLost = true;
        throw new TypeError('The response is lost.');
      },
    });
    const list = other.list<Record<string, unknown>>(path);
    const todos = await world.open();
    await todos.bulkInsert(['a', 'b'].map((id) => ({ id, title: id })));
    const state = world.replicate(todos, list, { client });
    await state.awaitInitialReplication();
    await until(async () => (await list.list().all()).data.length === 2);
    await state.awaitInSync();
    return { list, network, state, todos, errors: errorsOf(state) };
  }

  it('deletes a record, also when the response is lost', async () => {
    const { list, todos, errors } = await start();
    await (await todos.findOne('a').exec(true)).remove();
    await todos.insert({ id: 'c', title: 'c' });
    await until(async () => (await list.list().all()).data.some(({ id }) => id === 'c'));
    await converged(todos, list);
    expect(Object.keys(await contentOf(todos)).toSorted()).toEqual(['b', 'c']);
    expect(errors).toEqual([]);
  });

  it.each(['deletes', 'edits'])('%s what another of his devices has deleted', async (action) => {
    const { list, network, todos } = await start();
    network.off();
    const document = await todos.findOne('a').exec(true);
    await (action === 'edits' ? document.patch({ title: 'mine' }) : document.remove());
    await list.delete('a');
    network.on();
    await todos.insert({ id: 'c', title: 'c' });
    await until(async () => (await list.list().all()).data.some(({ id }) => id === 'c'));
    await converged(todos, list);
    expect(Object.keys(await contentOf(todos)).toSorted()).toEqual(['b', 'c']);
  });

  it('gets 403 for an edit of a record that it may only read', async () => {
    const { list, todos, errors } = await start();
    await world.client.list(list.path).put('theirs', { title: 'theirs' });
    const user = (await world.clientOf('bob').info()).user!.id;
    await world.client
      .list(list.path)
      .permissions('theirs')
      .add({ read: [user] });
    await until(() => todos.findOne('theirs').exec());
    await (await todos.findOne('theirs').exec(true)).patch({ title: 'mine' });
    await until(() => errors.length > 0);
    expect(errors[0]).toEqual({ code: 'RC_PUSH', status: 403, errno: 121 });
    expect(await contentOf(todos)).toMatchObject({ theirs: { title: 'mine' } });
  });
});
