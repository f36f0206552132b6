// What happens to documents that are written in the collection, whatever the service answers.
import { setTimeout } from 'node:timers/promises';
import { basic, CofferError } from '@coffer/client';
import { defaultHashSha256 } from 'rxdb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Coffer as OtherCoffer, CofferError as OtherError } from '../../../packages/client/src/index.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import {
  contentOf,
  converged,
  errorsOf,
  holdingFetch,
  recordsOf,
  until,
  World,
  type Replication,
  type Todo,
} from './support.ts';

type Input = { newDocumentState: Todo & { _deleted: boolean }; realMasterState: Todo & { _deleted: boolean } };

/** Keeps the local state in every conflict. */
const localWins = {
  isEqual: (a: object, b: object) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)),
  resolve: ({ newDocumentState }: Input) => newDocumentState,
};

const sorted = (document: object): [string, unknown][] =>
  Object.entries(document)
    .filter(([name]) => !['_attachments', '_meta', '_rev'].includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

describe('A written document', () => {
  let world: World;
  let proxy: FaultyProxy;
  beforeAll(async () => {
    world = await World.start(startTestService, { batch_max_requests: '4' });
  });
  beforeEach(async () => {
    proxy = await FaultyProxy.start(world.service.origin);
  });
  afterEach(async () => {
    await world.closeDatabases();
    await proxy.close();
  });
  afterAll(() => world.close());

  /** Counts the conflicts that a replication reports. */
  function conflictsOf(state: Replication): { count: number } {
    const seen = { count: 0 };
    state.conflict$.subscribe(() => (seen.count += 1));
    return seen;
  }

  it('does not overwrite a record with the same id', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'Theirs' });
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'Mine' });
    const state = world.replicate(todos, list);
    const conflicts = conflictsOf(state);
    await state.awaitInitialReplication();
    await state.awaitInSync();
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'Theirs' } });
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'Theirs' } });
    expect(conflicts.count).toBe(1);
  });

  it('causes a conflict also with a client of another copy of its package', async () => {
    const client = new OtherCoffer(world.service.origin, { auth: basic('owner', 'secret of owner') });
    expect(OtherError).not.toBe(CofferError);
    const list = await world.newList();
    await list.put('a', { title: 'Theirs' });
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'Mine' });
    await world.once(todos, list, { client: client as never });
    expect((await contentOf(todos))['a']).toMatchObject({ title: 'Theirs' });
  });

  it('causes no conflict if the record is equal already', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'Same' });
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'Same' });
    const state = world.replicate(todos, list);
    const conflicts = conflictsOf(state);
    await state.awaitInitialReplication();
    await state.awaitInSync();
    expect(conflicts.count).toBe(0);
    // The record was not written again, and can be changed.
    const { last_modified } = await list.get('a');
    await (await todos.findOne('a').exec(true)).patch({ done: true });
    await until(async () => (await list.get('a'))['done']);
    expect((await list.get('a')).last_modified).toBeGreaterThan(last_modified);
    expect(conflicts.count).toBe(0);
  });

  it('comes back if it was deleted here and changed there', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'A' });
    await world.once(todos, list);
    await (await todos.findOne('a').exec(true)).remove();
    await list.put('a', { title: 'Changed' });
    await world.once(todos, list);
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'Changed' } });
  });

  it('is deleted if it was changed here and deleted there', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'A' });
    await world.once(todos, list);
    await (await todos.findOne('a').exec(true)).patch({ title: 'Changed' });
    await list.delete('a');
    await world.once(todos, list);
    expect(await contentOf(todos)).toEqual({});
    expect(await recordsOf(list)).toEqual({});
  });

  it('is created again by a conflict handler that keeps it', async () => {
    const list = await world.newList();
    const todos = await world.open({ conflictHandler: localWins });
    await todos.insert({ id: 'a', title: 'A' });
    await world.once(todos, list);
    await (await todos.findOne('a').exec(true)).patch({ title: 'Kept' });
    await list.delete('a');
    await world.once(todos, list);
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'Kept' } });
    await (await todos.findOne('a').exec(true)).patch({ title: 'Kept again' });
    await list.put('a', { title: 'Theirs' });
    await world.once(todos, list);
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'Kept again' } });
    await converged(todos, list);
  });

  it('may be deleted in both places', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'A' });
    await world.once(todos, list);
    await (await todos.findOne('a').exec(true)).remove();
    await list.delete('a');
    const state = world.replicate(todos, list);
    const [conflicts, errors] = [conflictsOf(state), errorsOf(state)];
    await state.awaitInitialReplication();
    await state.awaitInSync();
    expect([conflicts.count, errors, await contentOf(todos)]).toEqual([0, [], {}]);
  });

  it('leaves no trace if it was created and deleted offline', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await (await todos.insert({ id: 'a', title: 'A' })).remove();
    await world.once(todos, list);
    expect((await list.changes({ since: 0 }).all()).data).toEqual([]);
  });

  it('is sent with a precondition, many in one batch, and alone without a batch', async () => {
    const list = await world.newList();
    const client = world.clientOf('owner', {}, proxy.origin);
    const todos = await world.open();
    await todos.bulkInsert(Array.from({ length: 10 }, (_, index) => ({ id: `t${index}`, title: 'T' })));
    const state = world.replicate(todos, list, { client });
    await state.awaitInitialReplication();
    await state.awaitInSync();
    const writes = (): string[] => proxy.seen.flatMap(({ method }) => (method === 'GET' ? [] : [method]));
    // At most four requests in one batch.
    expect(writes()).toEqual(['POST', 'POST', 'POST']);
    await (await todos.findOne('t0').exec(true)).patch({ done: true });
    await until(async () => (await list.get('t0'))['done']);
    await state.awaitInSync();
    const put = proxy.seen.find(({ method }) => method === 'PUT')!;
    expect(put.headers['if-match']).toMatch(/^"\d+"$/);
    await todos.insert({ id: 'alone', title: 'T' });
    await until(async () => (await list.list().count()) === 11);
    expect(proxy.seen.findLast(({ method }) => method === 'PUT')!.headers['if-none-match']).toBe('*');
    await (await todos.findOne('alone').exec(true)).remove();
    await until(async () => (await list.list().count()) === 10);
    expect(proxy.seen.findLast(({ method }) => method === 'DELETE')!.headers['if-match']).toMatch(/^"\d+"$/);
  });

  it('is written although the record was touched, but not changed', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'A' });
    const state = world.replicate(todos, list, { pull: undefined } as never);
    const conflicts = conflictsOf(state);
    await state.awaitInitialReplication();
    await until(async () => (await list.list().count()) === 1);
    await state.awaitInSync();
    await list.put('a', { title: 'A' });
    await (await todos.findOne('a').exec(true)).patch({ title: 'B' });
    await until(async () => (await list.get('a'))['title'] === 'B');
    expect(conflicts.count).toBe(0);
  });

  it('loses no increment of concurrent writers with a handler that merges', async () => {
    const list = await world.newList();
    await list.put('n', { title: 'N', size: 0, tags: [] });
    const union = {
      isEqual: localWins.isEqual,
      resolve: ({ newDocumentState: mine, realMasterState: theirs }: Input) => ({
        ...theirs,
        tags: [...new Set([...(theirs.tags ?? []), ...(mine.tags ?? [])])].toSorted(),
      }),
    };
    const all = await Promise.all([1, 2, 3].map(() => world.open({ conflictHandler: union })));
    const states = all.map((todos) => world.replicate(todos, list));
    await Promise.all(states.map((state) => state.awaitInitialReplication()));
    const expected: string[] = [];
    for (const [index, todos] of all.entries()) {
      for (let round = 0; round < 5; round += 1) {
        const tag = `${index}-${round}`;
        expected.push(tag);
        void todos
          .findOne('n')
          .exec(true)
          .then((document) => document.incrementalModify((data) => ({ ...data, tags: [...(data.tags ?? []), tag] })));
      }
    }
    await until(async () => ((await list.get('n'))['tags'] as string[]).length === expected.length);
    expect(((await list.get('n'))['tags'] as string[]).toSorted()).toEqual(expected.toSorted());
    for (const todos of all) await converged(todos, list);
  });

  it('is recognised when the response to its write was lost', async () => {
    const list = await world.newList();
    const client = world.clientOf('owner', { maxAttempts: 1 }, proxy.origin);
    const todos = await world.open();
    const state = world.replicate(todos, list, { client });
    const conflicts = conflictsOf(state);
    await state.awaitInitialReplication();
    let lost = 0;
    proxy.rule = ({ method }) => {
      if (method === 'GET' || lost >= 3) return undefined;
      lost += 1;
      return 'lose';
    };
    await todos.bulkInsert([
      { id: 'a', title: 'A' },
      { id: 'b', title: 'B' },
    ]);
    await until(() => lost === 3);
    await converged(todos, list);
    lost = 0;
    await (await todos.findOne('a').exec(true)).patch({ title: 'A2' });
    await until(() => lost === 3);
    lost = 0;
    await (await todos.findOne('b').exec(true)).remove();
    await until(() => lost === 3);
    await converged(todos, list);
    await state.awaitInSync();
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'A2' } });
    expect(conflicts.count).toBe(0);
  });

  it('causes no conflict with a write of its own that ended during a pause', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list, { client: world.clientOf('owner', { maxAttempts: 1 }, proxy.origin) });
    const conflicts = conflictsOf(state);
    await state.awaitInitialReplication();
    await todos.insert({ id: 'a', title: 'A' });
    await until(async () => (await list.list().count()) === 1);
    await state.awaitInSync();
    for (const fault of [undefined, 'lose', 'truncate'] as const) {
      let isPlanted = true;
      let pausing: Promise<unknown> | undefined;
      proxy.rule = ({ method }) => {
        if (method === 'GET' || !isPlanted) return undefined;
        isPlanted = false;
        pausing = Promise.resolve(state.pause());
        return fault;
      };
      await (await todos.findOne('a').exec(true)).incrementalPatch({ title: `during ${fault}` });
      await until(() => pausing !== undefined);
      await pausing;
      await until(async () => (await list.get('a'))['title'] === `during ${fault}`);
      await (await todos.findOne('a').exec(true)).incrementalPatch({ title: `after ${fault}` });
      await state.start();
      await until(async () => (await list.get('a'))['title'] === `after ${fault}`);
    }
    await converged(todos, list);
    expect(conflicts.count).toBe(0);
  });

  it('is sent after a pause in which an attempt has failed, although others were received meanwhile', async () => {
    const list = await world.newList();
    await list.put('theirs', { title: 'Theirs' });
    const todos = await world.open();
    await todos.insert({ id: 'mine', title: 'Mine' });
    const { fetch, held, release } = holdingFetch();
    const client = world.clientOf('owner', { maxAttempts: 1, fetch });
    const state = world.replicate(todos, list, { client, retryTime: 0 });
    const errors = errorsOf(state);
    await held;
    await until(() => todos.findOne('theirs').exec());
    await state.pause();
    release(new TypeError('no network'));
    await until(() => errors.length === 1);
    await todos.database.requestIdlePromise();
    await state.start();
    await until(() => list.get('mine').catch(() => undefined));
    await converged(todos, list);
  });

  it('is sent after a pause that was asked for before the first pull', async () => {
    const list = await world.newList();
    await list.put('theirs', { title: 'Theirs' });
    const states: Replication[] = [];
    const todos = await world.open({
      // RxDB pulls after this hash, and the pause is a matter of one turn.
      hashFunction: async (text) => {
        const state = states.find(({ replicationIdentifier }) => text === `rxdbreplication${replicationIdentifier}`);
        for (let turn = 0; turn < 10 && state?.isPaused() === false; turn += 1) await setTimeout(1);
        return defaultHashSha256(text);
      },
    });
    await todos.insert({ id: 'mine', title: 'Mine' });
    const state = world.replicate(todos, list, { autoStart: false });
    states.push(state);
    void state.start();
    await state.pause();
    await until(() => state.internalReplicationState!.firstSyncDone.down.getValue());
    await state.start();
    await converged(todos, list);
    expect(Object.keys(await recordsOf(list)).toSorted()).toEqual(['mine', 'theirs']);
  });
});
