// What a replication does when the list is not what it was: deletions that are not known any more, another list, other rights.
import { isRemoval } from '@coffer/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TestBackend } from '../../../src/testing/index.ts';
import { inExtent } from '../../support/extent.ts';
import { forgetting } from '../../support/forgetting.ts';
import { SwitchedFetch } from '../switched-fetch.ts';
import { backendNamed, contentOf, converged, errorsOf, recordsOf, todoSchema, until, World } from './support.ts';

const keysOf = async (collection: any): Promise<string[]> => Object.keys(await contentOf(collection)).toSorted();
const backends = inExtent(['memory'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('A replication with a service on %s', (backend) => {
  const start: TestBackend['start'] = (options) => backendNamed(backend).start({ ...options, plugins: [forgetting] });
  let world: World;
  beforeAll(async () => {
    world = await World.start(start, { live_recheck_seconds: '1' });
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  it('removes documents whose deletion is not known any more, and sends what was only here', async () => {
    const list = await world.newList();
    for (const id of ['a', 'b', 'c']) await list.put(id, { title: id });
    const todos = await world.open();
    await world.once(todos, list);
    await todos.insert({ id: 'mine', title: 'Mine' });
    await list.delete('a');
    await list.delete('b');
    await list.put('c', { title: 'C' });
    const parent = list.path.replace(/\/records$/, '');
    await world.client.request('POST', `/forget?parent=${encodeURIComponent(parent)}`);
    expect((await list.changes({ since: 1 }).all()).data.filter((change) => isRemoval(change))).toEqual([]);
    await world.once(todos, list);
    expect(await keysOf(todos)).toEqual(['c', 'mine']);
    await converged(todos, list);
  });

  it('is a copy of the list with pull alone', async () => {
    const list = await world.newList();
    for (const id of ['a', 'b']) await list.put(id, { title: id });
    const todos = await world.open();
    await todos.insert({ id: 'mine', title: 'Mine' });
    await world.once(todos, list, { push: undefined } as never);
    await list.delete('a');
    await world.client.request('POST', `/forget?parent=${encodeURIComponent(list.path.replace(/\/records$/, ''))}`);
    await world.once(todos, list, { push: undefined } as never);
    expect(await keysOf(todos)).toEqual(['b']);
  });

  it('does the same if the service refuses outdated checkpoints with 410', async () => {
    const own = await World.start(start, { refuse_outdated_since: 'true' });
    onTestFinished(() => own.close());
    const list = await own.newList();
    for (const id of ['a', 'b']) await list.put(id, { title: id });
    const todos = await own.open();
    await own.once(todos, list);
    await list.delete('a');
    await own.client.request('POST', `/forget?parent=${encodeURIComponent(list.path.replace(/\/records$/, ''))}`);
    await own.once(todos, list, { pull: { batchSize: 1 } });
    expect(await keysOf(todos)).toEqual(['b']);
    await own.once(todos, list);
    await converged(todos, list);
  });

  it('takes the state of a list that is older than its checkpoint, as after a restore', async () => {
    const [backup, current] = [await world.newList(), await world.newList()];
    await backup.put('a', { title: 'A of the backup' });
    await backup.put('b', { title: 'B' });
    await current.put('a', { title: 'A' });
    await current.put('c', { title: 'C' });
    const todos = await world.open();
    const replicationIdentifier = 'restored';
    await world.once(todos, current, { replicationIdentifier });
    await todos.insert({ id: 'mine', title: 'Mine' });
    await world.once(todos, backup, { replicationIdentifier });
    await converged(todos, backup);
    expect(await keysOf(todos)).toEqual(['a', 'b', 'mine']);
  });

  it('follows a list that was deleted and created again', async () => {
    const list = await world.newList();
    const id = list.path.split('/').at(-2)!;
    await list.put('a', { title: 'A' });
    const todos = await world.open();
    const state = world.replicate(todos, list);
    const errors = errorsOf(state);
    await state.awaitInitialReplication();
    await until(() => todos.findOne('a').exec());
    await world.client.bucket('b').collections.delete(id);
    await until(() => errors.some(({ status }) => status === 404));
    expect(await keysOf(todos)).toEqual(['a']);
    await world.client.bucket('b').collections.create({ id });
    await list.put('b', { title: 'B' });
    await until(async () => String(await keysOf(todos)) === 'b');
    await list.put('c', { title: 'C' });
    await until(() => todos.findOne('c').exec());
  });

  it('drops its copy when everything is flushed', async () => {
    const own = await World.start(start, { flush_endpoint_enabled: 'true' });
    onTestFinished(() => own.close());
    const buckets = own.client.buckets;
    await buckets.put('one', { title: 'One' });
    const copies = await own.open({ schema: { ...todoSchema, required: ['id'], indexes: [] } });
    const state = own.replicate(copies, buckets, { push: undefined } as never);
    await state.awaitInitialReplication();
    expect(await keysOf(copies)).toEqual(['b', 'one']);
    await own.client.request('POST', '/__flush__');
    await until(async () => (await keysOf(copies)).length === 0);
    await buckets.put('two', { title: 'Two' });
    await until(async () => String(await keysOf(copies)) === 'two');
  });

  it('has the shared records alone, as they are shared', async () => {
    const list = await world.newList();
    for (const id of ['a', 'b', 'c']) await list.put(id, { title: id });
    const bob = world.clientOf('bob');
    const user = (await bob.info()).user!.id;
    await list.permissions('a').add({ write: [user] });
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: bob });
    await state.awaitInitialReplication();
    await until(async () => String(await keysOf(todos)) === 'a');
    await list.permissions('b').add({ read: [user] });
    await until(async () => String(await keysOf(todos)) === 'a,b');
    await (await todos.findOne('a').exec(true)).patch({ done: true });
    await until(async () => (await list.get('a'))['done']);
    await list.permissions('a').remove({ write: [user] });
    await until(async () => String(await keysOf(todos)) === 'b');
    // The record itself is still there.
    expect(Object.keys(await recordsOf(list))).toHaveLength(3);
    await list.put('b', { title: 'B' });
    await until(async () => (await todos.findOne('b').exec())?.title === 'B');
  });

  it.each(['without a connection', 'between two replications'])(
    'has the whole list after it had the shared records, when access changed %s',
    async (when) => {
      const list = await world.newList();
      for (const id of ['a', 'b', 'c']) await list.put(id, { title: id });
      const network = new SwitchedFetch();
      const dora = world.clientOf('dora', { fetch: network.fetch });
      const user = (await dora.info()).user!.id;
      await list.permissions('b').add({ read: [user] });
      const todos = await world.open();
      const options = { client: dora, replicationIdentifier: 'shared' };
      const state = world.replicate(todos, list, options);
      await state.awaitInitialReplication();
      await until(async () => String(await keysOf(todos)) === 'b');
      await list.put('b', { title: 'B' });
      await until(async () => (await todos.findOne('b').exec())?.title === 'B');
      network.off();
      if (when === 'between two replications') await state.cancel();
      await world.client
        .bucket('b')
        .collections.permissions(list.path.split('/').at(-2)!)
        .add({ read: [user] });
      network.on();
      if (when === 'between two replications') world.replicate(todos, list, options);
      await until(async () => String(await keysOf(todos)) === 'a,b,c');
    },
  );

  it('reports that access was revoked, keeps its documents, and continues when access is back', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'A' });
    const carol = world.clientOf('carol');
    const user = (await carol.info()).user!.id;
    const access = world.client.bucket('b').collections.permissions(list.path.split('/').at(-2)!);
    await access.add({ read: [user] });
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: carol });
    const errors = errorsOf(state);
    await state.awaitInitialReplication();
    await access.remove({ read: [user] });
    await until(() => errors.some(({ code }) => code === 'RC_PULL'));
    expect(new Set(errors.map(({ status }) => status))).toEqual(new Set([403]));
    await list.put('b', { title: 'B' });
    expect(await keysOf(todos)).toEqual(['a']);
    await access.add({ read: [user] });
    await until(async () => String(await keysOf(todos)) === 'a,b');
    await list.put('c', { title: 'C' });
    await until(() => todos.findOne('c').exec());
  });
});
