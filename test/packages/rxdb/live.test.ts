// How a replication follows the list, and what it does when the connection or the service fails.
import { bearer } from '@coffer/client';
import { firstValueFrom } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../../src/testing/index.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import {
  contentOf,
  converged,
  errorsOf,
  holdingFetch,
  newName,
  newStorage,
  recordsOf,
  until,
  World,
} from './support.ts';

const keysOf = async (collection: any): Promise<string[]> => Object.keys(await contentOf(collection)).toSorted();

describe('A live replication', () => {
  let world: World;
  let proxy: FaultyProxy;
  beforeAll(async () => {
    world = await World.start(startTestService, { live_recheck_seconds: '1' });
  });
  beforeEach(async () => {
    proxy = await FaultyProxy.start(world.service.origin);
  });
  afterEach(async () => {
    await world.closeDatabases();
    await proxy.close();
  });
  afterAll(() => world.close());

  const isStream = ({ target }: { target: string }): boolean =>
    target.startsWith('/v1/live') || target.includes('_live=');
  const pulls = (): string[] =>
    proxy.seen.flatMap((seen) => (seen.method === 'GET' && !isStream(seen) ? [seen.target] : []));

  it('receives changes on the stream, without further requests', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: world.clientOf('owner', {}, proxy.origin) });
    await state.awaitInitialReplication();
    await list.put('first', { title: 'First' });
    await until(() => todos.findOne('first').exec());
    const count = proxy.seen.length;
    await list.put('a', { title: 'A' });
    await until(() => todos.findOne('a').exec());
    await list.delete('a');
    await until(async () => (await todos.findOne('a').exec()) === null);
    expect(proxy.seen).toHaveLength(count);
  });

  it('continues after cut connections, without reading the list again', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: world.clientOf('owner', {}, proxy.origin) });
    const errors = errorsOf(state);
    await state.awaitInitialReplication();
    const before = pulls().length;
    for (let round = 0; round < 5; round += 1) {
      proxy.cutAll();
      await list.put(`a${round}`, { title: 'A' });
      if (round > 0) await list.delete(`a${round - 1}`);
      await until(() => todos.findOne(`a${round}`).exec());
    }
    await converged(todos, list);
    expect(pulls().length).toBe(before);
    expect(errors).toEqual([]);
  });

  it('polls on request', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const client = world.clientOf('owner', {}, proxy.origin);
    const state = world.replicate(todos, list, { client, pull: { transport: 'poll' } });
    await state.awaitInitialReplication();
    await list.put('a', { title: 'A' });
    await until(() => todos.findOne('a').exec());
    await until(() => proxy.seen.some(({ target }) => target.includes('_live=poll')));
    expect(proxy.seen.some(({ target }) => target.includes('sse') || target.startsWith('/v1/live'))).toBe(false);
  });

  it('shares a connection with other collections of the client', async () => {
    const client = world.clientOf('owner', {}, proxy.origin);
    const lists = [await world.newList(), await world.newList(), await world.newList()];
    const all = await Promise.all(lists.map(() => world.open()));
    for (const [index, todos] of all.entries()) {
      await world.replicate(todos, lists[index]!, { client }).awaitInitialReplication();
    }
    for (const [index, list] of lists.entries()) {
      await list.put('a', { title: 'A' });
      await until(() => all[index]!.findOne('a').exec());
    }
    const streams = proxy.seen.filter(isStream);
    expect(streams.at(-1)!.target.match(/watch=/g)).toHaveLength(3);
  });

  it('renews credentials, and reports refused ones until there are others', async () => {
    const list = await world.newList();
    await world.client
      .bucket('b')
      .collections.permissions(list.path.split('/').at(-2)!)
      .add({ read: ['system.Authenticated'] });
    let token = 'old';
    const renewals: boolean[] = [];
    const renewing = bearer((isRefused) => {
      renewals.push(isRefused);
      return token;
    });
    const valid = `Basic ${Buffer.from('dan:secret of dan').toString('base64')}`;
    const auth = async (refused?: string): Promise<string | undefined> => (token === 'new' ? valid : renewing(refused));
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: world.clientOf('dan', { auth }) });
    const errors = errorsOf(state);
    await list.put('a', { title: 'A' });
    await until(() => errors.length > 0);
    expect(errors[0]).toEqual({ code: 'RC_PULL', status: 401, errno: 104 });
    expect(renewals).toContain(true);
    token = 'new';
    await until(() => todos.findOne('a').exec());
  });

  it('waits as long as the service says, unless it is cancelled', async () => {
    const list = await world.newList();
    const client = world.clientOf('owner', { maxAttempts: 1 }, proxy.origin);
    const busy = { status: 503, headers: { 'Retry-After': '100000' }, body: '{"code":503,"errno":201}' } as const;
    proxy.rule = ({ method }) => (method === 'GET' ? busy : undefined);
    const todos = await world.open();
    const state = world.replicate(todos, list, { client });
    const errors = errorsOf(state);
    await until(() => errors.length > 0);
    // The other direction goes on, for longer than the pause without that header.
    for (let round = 0; round < 10; round += 1) {
      await todos.insert({ id: `a${round}`, title: 'A' });
      await until(async () => (await list.list().count()) === round + 1);
    }
    expect(pulls()).toHaveLength(1);
    expect(errors).toEqual([{ code: 'RC_PULL', status: 503, errno: 201 }]);
    await state.cancel();
  });

  it('begins when the service can be reached', async () => {
    const list = await world.newList();
    const client = world.clientOf('owner', { maxAttempts: 1 }, proxy.origin);
    proxy.rule = () => 'cut';
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'A' });
    const state = world.replicate(todos, list, { client });
    const errors = errorsOf(state);
    await until(() => errors.some(({ code }) => code === 'RC_PULL') && errors.some(({ code }) => code === 'RC_PUSH'));
    proxy.rule = undefined;
    await state.awaitInitialReplication();
    await converged(todos, list);
    await list.put('b', { title: 'B' });
    await until(() => todos.findOne('b').exec());
  });

  it('continues a first copy that was interrupted', async () => {
    const list = await world.newList();
    for (let index = 0; index < 6; index += 1) await list.put(`a${index}`, { title: 'A' });
    const client = world.clientOf('owner', { maxAttempts: 1 }, proxy.origin);
    const [name, storage] = [newName(), newStorage()];
    const first = await world.open({ name, storage });
    let pages = 0;
    proxy.rule = ({ target }) => (target.includes('_since=') && ++pages > 2 ? 'cut' : undefined);
    const state = world.replicate(first, list, { client, pull: { batchSize: 2 } });
    const errors = errorsOf(state);
    await until(() => errors.length > 0);
    await state.cancel();
    proxy.rule = undefined;
    proxy.seen.length = 0;
    await world.once(first, list, { client, pull: { batchSize: 2 } });
    await converged(first, list);
    expect(pulls()[0]).not.toContain('_since=0&');
  });

  it('stops with its requests when it is cancelled, and reports no error', async () => {
    const list = await world.newList();
    const client = world.clientOf('owner', {}, proxy.origin);
    const todos = await world.open();
    proxy.rule = (request) => (isStream(request) ? undefined : 'silence');
    const state = world.replicate(todos, list, { client });
    const errors = errorsOf(state);
    await proxy.reached(1);
    await todos.insert({ id: 'a', title: 'A' });
    await proxy.reached(2);
    await state.cancel();
    const count = proxy.seen.length;
    proxy.rule = undefined;
    // A replication that starts anew sends what the other one had not sent.
    await world.once(todos, list);
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'A' } });
    expect(errors).toEqual([]);
    expect(proxy.seen).toHaveLength(count);
  });

  it('closes its stream while it is paused, and catches up afterwards', async () => {
    const list = await world.newList();
    const client = world.clientOf('owner', {}, proxy.origin);
    const todos = await world.open();
    const state = world.replicate(todos, list, { client });
    await state.awaitInitialReplication();
    await list.put('a', { title: 'A' });
    await until(() => todos.findOne('a').exec());
    await state.pause();
    await list.put('b', { title: 'B' });
    await todos.insert({ id: 'c', title: 'C' });
    expect(await keysOf(todos)).toEqual(['a', 'c']);
    await state.start();
    await converged(todos, list);
    await list.put('d', { title: 'D' });
    await until(() => todos.findOne('d').exec());
    expect(await keysOf(todos)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('goes on following when it was paused while a push delayed the changes of others', async () => {
    const list = await world.newList();
    const { fetch, held, release } = holdingFetch();
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: world.clientOf('owner', { fetch }) });
    await state.awaitInitialReplication();
    await state.awaitInSync();
    await todos.insert({ id: 'mine', title: 'Mine' });
    await held;
    const received = firstValueFrom(state.remoteEvents$);
    await list.put('theirs', { title: 'Theirs' });
    await received;
    await state.pause();
    await state.start();
    release();
    await until(() => todos.findOne('theirs').exec());
    await state.awaitInSync();
    await list.put('later', { title: 'Later' });
    await converged(todos, list);
  });

  it('pulls on reSync, and goes on following', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list);
    await state.awaitInitialReplication();
    for (let round = 0; round < 5; round += 1) {
      state.reSync();
      await list.put(`a${round}`, { title: 'A' });
      await until(() => todos.findOne(`a${round}`).exec());
    }
    await state.awaitInSync();
    await converged(todos, list);
  });

  it.each([-1, 1])('needs no clock that is right: that of the service differs by %d days', async (days) => {
    const clock = { now: () => Date.now() + days * 86_400_000 };
    const skewed = await World.start((options) => startTestService({ ...options, clock }));
    onTestFinished(() => skewed.close());
    const list = await skewed.newList();
    await list.put('a', { title: 'A' });
    const todos = await skewed.open();
    const state = skewed.replicate(todos, list);
    await state.awaitInitialReplication();
    await state.pause();
    await list.put('b', { title: 'B' });
    await todos.insert({ id: 'c', title: 'C' });
    await todos.findOne('a').incrementalPatch({ title: 'Mine' });
    await list.put('a', { title: 'Theirs' });
    await state.start();
    await converged(todos, list);
    expect((await contentOf(todos))['a']).toMatchObject({ title: 'Theirs' });
    await list.put('d', { title: 'D' });
    await until(() => todos.findOne('d').exec());
    expect(await keysOf(todos)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('runs in one of several tabs, and in another one when that is closed', async () => {
    const list = await world.newList();
    const [name, storage] = [newName(), newStorage()];
    const tabs = [
      await world.open({ name, storage, multiInstance: true }),
      await world.open({ name, storage, multiInstance: true }),
    ];
    const states = tabs.map((todos) => world.replicate(todos, list));
    await until(() => states.some(({ wasStarted }) => wasStarted));
    const leader = states.findIndex(({ wasStarted }) => wasStarted);
    const other = 1 - leader;
    await list.put('a', { title: 'A' });
    await until(() => tabs[other]!.findOne('a').exec());
    await tabs[other]!.insert({ id: 'b', title: 'B' });
    await until(async () => (await list.list().count()) === 2);
    expect(states[other]!.wasStarted).toBe(false);
    await tabs[leader]!.database.close();
    await until(() => states[other]!.wasStarted);
    await list.put('c', { title: 'C' });
    await until(() => tabs[other]!.findOne('c').exec());
    await converged(tabs[other]!, list);
  });

  it('writes each edit once if all tabs replicate', async () => {
    const list = await world.newList();
    const [name, storage] = [newName(), newStorage()];
    const tabs = [
      await world.open({ name, storage, multiInstance: true }),
      await world.open({ name, storage, multiInstance: true }),
    ];
    const states = tabs.map((todos) => world.replicate(todos, list, { waitForLeadership: false }));
    const errors = states.map((state) => errorsOf(state));
    let conflicts = 0;
    for (const state of states) state.conflict$.subscribe(() => (conflicts += 1));
    await Promise.all(states.map((state) => state.awaitInitialReplication()));
    const versions = new Set<number>();
    for (const [index, todos] of tabs.entries()) {
      await todos.insert({ id: `a${index}`, title: 'First' });
      for (const title of ['Second', 'Third']) {
        await Promise.all(states.map((state) => state.awaitInSync()));
        for (const { last_modified } of (await list.list().all()).data) versions.add(last_modified);
        await (await todos.findOne(`a${index}`).exec(true)).incrementalPatch({ title });
      }
    }
    await Promise.all(states.map((state) => state.awaitInSync()));
    for (const todos of tabs) await converged(todos, list);
    for (const { last_modified } of (await list.list().all()).data) versions.add(last_modified);
    expect(versions.size).toBe(6);
    expect(conflicts).toBe(0);
    expect(errors.flat()).toEqual([]);
  });
});
