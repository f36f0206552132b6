// States that others write while the response to a push is on its way: RxDB would ignore them, because it does not know yet
// that the push has succeeded.
import { firstValueFrom } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Collection as Records } from '@coffer/client';
import { ChangeReader } from '../../../packages/rxdb/src/changes.ts';
import { HeldStream } from '../held-stream.ts';
import { contentOf, converged, until, World, type Replication, type Stored, type Todo, type Todos } from './support.ts';

describe('A replication whose conflict takes time to resolve', () => {
  it('takes what others write meanwhile, although the resolution is the state before', async () => {
    const world = await World.start();
    onTestFinished(() => world.close());
    const list = await world.newList();
    const reads = vi.spyOn(ChangeReader.prototype, 'read');
    onTestFinished(() => reads.mockRestore());
    const hasReceived = (title: string): boolean =>
      reads.mock.calls.some(([changes]) => changes.some((change) => 'title' in change && change.title === title));
    const released = newSignal();
    const resolved: string[] = [];
    const conflictHandler = {
      isEqual: (one: Todo, other: Todo) => one.title === other.title,
      resolve: async ({ realMasterState }: { realMasterState: Todo }) => {
        resolved.push(realMasterState.title);
        if (resolved.length === 1) {
          await list.put('a', { title: 'later' });
          released.resolve();
          await until(() => hasReceived('later'));
        }
        return realMasterState;
      },
    };
    const todos = await world.open({ conflictHandler });
    let waits = false;
    const delayed: typeof fetch = async (url, init = {}) => {
      if (waits && new URL(new Request(url).url).pathname.endsWith('/records')) await released.promise;
      return fetch(url, init);
    };
    const state = world.replicate(todos, list, { client: world.clientOf('owner', { fetch: delayed }) });
    await state.awaitInitialReplication();
    await state.pause();
    await todos.insert({ id: 'a', title: 'mine' });
    await list.put('a', { title: 'theirs' });
    // The pull after the pause is answered while the conflict of the push is being resolved.
    waits = true;
    await state.start();
    await converged(todos, list);
    expect(await contentOf(todos)).toMatchObject({ a: { title: 'later' } });
    expect(resolved).toEqual(['theirs']);
  });
});

describe('A replication whose user takes an edit back', () => {
  it('takes what others have written, which the edit would have conflicted with', async () => {
    const world = await World.start();
    onTestFinished(() => world.close());
    const list = await world.newList();
    await list.put('a', { title: 'first' });
    let conflicts = 0;
    const conflictHandler = {
      isEqual: (one: Todo, other: Todo) => one.title === other.title,
      resolve: async ({ newDocumentState, realMasterState }: Record<string, Todo>) => {
        conflicts += 1;
        if (conflicts === 1) await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'first' });
        return conflicts === 1 ? realMasterState : newDocumentState;
      },
    };
    const todos = await world.open({ conflictHandler });
    const state = world.replicate(todos, list);
    await state.awaitInitialReplication();
    await state.pause();
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'mine' });
    await list.put('a', { title: 'theirs' });
    await state.start();
    await converged(todos, list);
    expect(await contentOf(todos)).toMatchObject({ a: { title: 'theirs' } });
    expect(conflicts).toBe(1);
  });
});

describe('A replication that continues after a pause', () => {
  let world: World;
  let list: Records<Stored>;
  let todos: Todos;
  beforeAll(async () => {
    world = await World.start(undefined, { experimental_collection_schema_validation: 'true' });
  });
  beforeEach(async () => {
    list = await world.newList();
    todos = await world.open();
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  /** Starts a replication that is paused, whose network holds responses to requests with a method for the record `a`. */
  async function pausedReplication(method: string): Promise<{
    state: Replication;
    held: Promise<void>;
    release: () => void;
    stream: HeldStream;
  }> {
    const [held, released] = [newSignal(), newSignal()];
    const stream = new HeldStream(async (url, init = {}) => {
      const response = await fetch(url, init);
      if ((init.method ?? 'GET') === method && new URL(url).pathname.endsWith('/a')) {
        held.resolve();
        await released.promise;
      }
      return response;
    });
    const state = world.replicate(todos, list, { client: world.clientOf('owner', { fetch: stream.fetch }) });
    await state.awaitInitialReplication();
    await state.pause();
    return { state, held: held.promise, release: released.resolve, stream };
  }

  it('takes what others write on top of its push before it has the response', async () => {
    await list.put('a', { title: 'first' });
    const { state, held, release, stream } = await pausedReplication('PUT');
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'second' });
    stream.hold();
    await state.start();
    await held;
    await list.patch('a', { title: 'theirs' });
    await stream.deliver('"theirs"');
    release();
    await converged(todos, list);
    expect(await contentOf(todos)).toMatchObject({ a: { title: 'theirs' } });
  });

  it('takes a record that others create while it finds that its own one never was there', async () => {
    const { state, held, release, stream } = await pausedReplication('GET');
    await todos.insert({ id: 'a', title: 'mine' });
    await (await todos.findOne('a').exec(true)).remove();
    stream.hold();
    await state.start();
    await held;
    await list.put('a', { title: 'theirs' });
    await stream.deliver('"theirs"');
    release();
    await converged(todos, list);
    expect(await contentOf(todos)).toMatchObject({ a: { title: 'theirs' } });
  });

  it('takes later states of what it has written, also while another document of the push is refused', async () => {
    list = await world.newList({ schema: { properties: { size: { maximum: 5 } } } });
    await list.put('a', { title: 'first' });
    const { state, release } = await pausedReplication('none');
    release();
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'second' });
    // The list refuses it again and again.
    await todos.insert({ id: 'b', title: 'refused', size: 9 });
    await state.start();
    await until(async () => (await list.get('a'))['title'] === 'second');
    await list.patch('a', { title: 'theirs' });
    await until(async () => (await contentOf(todos))['a']!.title === 'theirs');
    await expect(list.get('b')).rejects.toMatchObject({ status: 404 });
  });

  it('has no conflict about a deletion that others made too, while another document of the push is refused', async () => {
    let conflicts = 0;
    const resolve = ({ realMasterState }: { realMasterState: Todo }): object => {
      if (realMasterState.id === 'a') conflicts += 1;
      return realMasterState;
    };
    const shown = ({ title, size, _deleted }: Todo & { _deleted: boolean }): string =>
      JSON.stringify([title, size, _deleted]);
    const isEqual = (one: Todo & { _deleted: boolean }, other: Todo & { _deleted: boolean }): boolean =>
      shown(one) === shown(other);
    todos = await world.open({ conflictHandler: { isEqual, resolve } });
    list = await world.newList({ schema: { properties: { size: { maximum: 5 } } } });
    await list.put('a', { title: 'first' });
    const { state, release, stream } = await pausedReplication('none');
    release();
    await list.delete('a');
    await (await todos.findOne('a').exec(true)).remove();
    await todos.insert({ id: 'b', title: 'refused', size: 9 });
    stream.hold();
    const refusal = firstValueFrom(state.error$);
    await state.start();
    await refusal;
    await list.put('a', { title: 'theirs' });
    await firstValueFrom(state.error$);
    await stream.deliver('"theirs"');
    await (await todos.findOne('b').exec(true)).incrementalPatch({ size: 1 });
    await until(async () => (await contentOf(todos))['a']?.title === 'theirs');
    await state.awaitInSync();
    expect(await list.get('b')).toMatchObject({ size: 1 });
    expect(conflicts).toBe(0);
  });
});

describe('A replication that RxDB gives a state of the service as an edit', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start();
  });
  afterAll(() => world.close());

  // RxDB reads the documents that have changed, and what the service has of them later.
  it.each([
    ['an earlier one than it has', 'first', { title: 'second' }],
    ['an earlier one than it has, of a document that it regards as new', 'first', undefined],
    ['the present one', 'second', { title: 'first' }],
  ])('does not push %s', async (_, title, assumed) => {
    const list = await world.newList();
    await list.put('a', { title: 'second' });
    let conflicts = 0;
    const todos = await world.open({
      conflictHandler: {
        isEqual: (one: Todo, other: Todo) => one.title === other.title,
        resolve: () => (conflicts += 1),
      },
    });
    const state = world.replicate(todos, list);
    await state.awaitInSync();
    expect(await contentOf(todos)).toMatchObject({ a: { title: 'second' } });
    const { input } = state.internalReplicationState!;
    const document = (shown: { title: string }): object => ({ id: 'a', ...shown, _deleted: false });
    const row = { assumedMasterState: assumed && document(assumed), newDocumentState: document({ title }) };
    const refused = await input.replicationHandler.masterWrite([row as never]);
    expect(refused).toEqual(title === 'second' ? [] : [expect.objectContaining({ title: 'second' })]);
    for (const realMasterState of refused) {
      const conflict = { ...row, realMasterState } as never;
      expect(await input.conflictHandler.resolve(conflict, 'replication-resolve-conflict')).toBe(realMasterState);
    }
    expect(conflicts).toBe(0);
    expect(await list.get('a')).toMatchObject({ title: 'second' });
    // An edit on top of it is pushed.
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'third' });
    await until(async () => (await list.get('a'))['title'] === 'third');
  });
});

function newSignal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
