// States that the stream brings after later ones were pushed: echoes of own writes, and what others wrote before them.
import { replicateRxCollection } from 'rxdb/plugins/replication';
import { Subject } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Collection as Records } from '@coffer/client';
import { ChangeReader } from '../../../packages/rxdb/src/changes.ts';
import { LateStates, takesOver } from '../../../packages/rxdb/src/late.ts';
import { LocalDocuments } from '../../../packages/rxdb/src/local.ts';
import { RecentRecords } from '../../../packages/rxdb/src/recent.ts';
import { Shape } from '../../../packages/rxdb/src/shape.ts';
import { PushesUnderWay } from '../../../packages/rxdb/src/under-way.ts';
import { HeldStream } from '../held-stream.ts';
import {
  contentOf,
  converged,
  holdingFetch,
  todoSchema,
  until,
  World,
  type Replication,
  type Stored,
  type Todo,
  type Todos,
} from './support.ts';

describe('A replication whose stream is late', () => {
  let world: World;
  let list: Records<Stored>;
  let network: HeldStream;
  beforeAll(async () => {
    world = await World.start();
  });
  beforeEach(async () => {
    list = await world.newList();
    network = new HeldStream();
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  /** Starts a replication with the record `a`, and holds its stream. */
  async function begin(todos: Todos, { fetch = network.fetch } = {}): Promise<{ state: Replication; seen: string[] }> {
    await list.put('a', { title: 'first', size: 0 });
    const state = world.replicate(todos, list, { client: world.clientOf('owner', { fetch }) });
    await state.awaitInitialReplication();
    // The stream is open.
    await list.put('open', { title: 'open' });
    await until(() => todos.findOne('open').exec());
    network.hold();
    const seen: string[] = [];
    todos.findOne('a').$.subscribe((todo) => seen.push(todo?.title ?? 'deleted'));
    return { state, seen };
  }

  /** Writes the record here, and waits until its echo is on the stream. */
  async function write(todos: Todos, state: Replication, title: string): Promise<void> {
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title });
    await state.awaitInSync();
    await network.has(`"${title}"`);
  }

  /** Lets everything arrive that the service has sent until now. */
  async function deliver(todos: Todos, mark: string): Promise<void> {
    await list.put(mark, { title: mark });
    await network.has(`"${mark}"`);
    network.release(`"${mark}"`);
    await until(() => todos.findOne(mark).exec());
  }

  it('keeps an edit on top of a later write', async () => {
    const todos = await world.open();
    const { state, seen } = await begin(todos);
    let conflicts = 0;
    state.conflict$.subscribe(() => (conflicts += 1));
    await write(todos, state, 'second');
    await list.put('between', { title: 'between' });
    await network.has('"between"');
    await write(todos, state, 'third');
    network.release('"between"');
    await until(() => todos.findOne('between').exec());
    await (await todos.findOne('a').exec(true)).incrementalPatch({ size: 7 });
    await state.awaitInSync();
    expect(await list.get('a')).toMatchObject({ title: 'third', size: 7 });
    network.release();
    await converged(todos, list);
    expect(conflicts).toBe(0);
    expect(seen.filter((title, index) => title !== seen[index - 1])).toEqual(['first', 'second', 'third']);
  });

  it('does not bring a deleted document back', async () => {
    const todos = await world.open();
    const { state, seen } = await begin(todos);
    await write(todos, state, 'second');
    await list.put('between', { title: 'between' });
    await network.has('"between"');
    await (await todos.findOne('a').exec(true)).remove();
    await state.awaitInSync();
    network.release('"between"');
    await until(() => todos.findOne('between').exec());
    network.release();
    await converged(todos, list);
    expect(seen.filter((title, index) => title !== seen[index - 1])).toEqual(['first', 'second', 'deleted']);
  });

  it('does not delete a document that was created again', async () => {
    const todos = await world.open();
    const { state, seen } = await begin(todos);
    await (await todos.findOne('a').exec(true)).remove();
    await state.awaitInSync();
    await list.put('between', { title: 'between' });
    await network.has('"between"');
    await todos.insert({ id: 'a', title: 'again' });
    await state.awaitInSync();
    network.release('"between"');
    await until(() => todos.findOne('between').exec());
    network.release();
    await converged(todos, list);
    expect(seen.filter((title, index) => title !== seen[index - 1])).toEqual(['first', 'deleted', 'again']);
  });

  it('ignores what others wrote before its own write, also if that has arrived during the push', async () => {
    const todos = await world.open();
    const { fetch, held, release } = holdingFetch();
    const stream = new HeldStream(fetch);
    const { state, seen } = await begin(todos, { fetch: stream.fetch });
    stream.hold();
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'second' });
    await held;
    await list.patch('a', { color: 'an attribute that the schema does not have' });
    await stream.deliver('an attribute');
    release();
    await until(async () => (await list.get('a'))['title'] === 'second');
    await state.awaitInSync();
    await list.put('end', { title: 'end' });
    await until(() => todos.findOne('end').exec());
    expect(await list.get('a')).toMatchObject({ title: 'second', color: expect.any(String) });
    expect(seen.filter((title, index) => title !== seen[index - 1])).toEqual(['first', 'second']);
  });

  it('takes what others wrote after its own write', async () => {
    const todos = await world.open();
    const { state } = await begin(todos);
    await write(todos, state, 'second');
    await list.patch('a', { title: 'theirs' });
    await deliver(todos, 'mark');
    expect((await contentOf(todos))['a']).toMatchObject({ title: 'theirs' });
    await list.delete('a');
    network.release();
    await converged(todos, list);
  });

  it('brings the timestamps of own writes to documents that have them', async () => {
    const properties = { ...todoSchema.properties, last_modified: { type: 'number' } };
    const todos = await world.open<Todo & { last_modified?: number }>({ schema: { ...todoSchema, properties } });
    const { state } = await begin(todos);
    for (const title of ['second', 'third']) {
      await (await todos.findOne('a').exec(true)).incrementalPatch({ title });
      await state.awaitInSync();
    }
    network.release();
    const { last_modified } = await list.get('a');
    await until(async () => (await todos.findOne('a').exec(true)).last_modified === last_modified);
    expect((await todos.findOne('a').exec(true)).title).toBe('third');
  });
});

describe('States that a replication receives', () => {
  it('are ignored if a later one was received before RxDB stores them', () => {
    const late = new LateStates(({ id }) => id as string);
    const [older, newer] = [1, 2].map((timestamp) => {
      const document = { id: 'a', title: `state ${timestamp}`, _deleted: false };
      return late.unmark({ ...late.mark(document, timestamp) });
    });
    const isEqual = late.ignoring((one, other) => JSON.stringify(one) === JSON.stringify(other));
    expect(isEqual(older!, newer!, takesOver)).toBe(true);
    expect(isEqual(newer!, older!, takesOver)).toBe(false);
    late.clear();
    expect(isEqual(older!, newer!, takesOver)).toBe(false);
  });
});

describe('Deletions that a replication receives', () => {
  it('are passed on each time, while RxDB may be about to store an earlier state of the document', async () => {
    const world = await World.start();
    onTestFinished(() => world.close());
    const todos = await world.open();
    const shape = new Shape({ collection: todos } as never);
    const local = new LocalDocuments(todos as never, () => expect.unreachable());
    const late = new LateStates((document) => shape.keyOf(document));
    const reader = new ChangeReader(shape, new RecentRecords(), late, local, new PushesUnderWay(), () =>
      expect.unreachable(),
    );
    const deletion = { id: 'x', last_modified: 2, deleted: true } as const;
    expect(await reader.read([deletion])).toEqual([]);
    await reader.read([{ id: 'x', last_modified: 1, title: 'theirs' } as never]);
    const deleted = [expect.objectContaining({ id: 'x', title: 'theirs', _deleted: true })];
    // A stream that a pull has ended does not pass on what it reads.
    expect(await reader.read([deletion])).toEqual(deleted);
    expect(await reader.read([deletion])).toEqual(deleted);
  });
});

describe('RxDB', () => {
  it('asks whether a collection has a received state in the context that the plugin knows', async () => {
    const world = await World.start();
    onTestFinished(() => world.close());
    const contexts = new Map<string, [object, object]>();
    const handler = {
      isEqual: (one: object, other: object, context: string) => {
        contexts.set(context, [one, other]);
        return false;
      },
      resolve: ({ realMasterState }: { realMasterState: object }) => realMasterState,
    };
    const todos = await world.open({ conflictHandler: handler });
    const received = (title: string) => ({ id: 'a', title, _deleted: false });
    const stream = new Subject<any>();
    const state = replicateRxCollection<Todo, { at: number }>({
      collection: todos,
      replicationIdentifier: 'contexts',
      pull: {
        handler: async () => ({ documents: [received('first')], checkpoint: { at: 1 } }),
        stream$: stream,
        batchSize: 2,
      },
    });
    await state.awaitInitialReplication();
    stream.next({ documents: [received('second')], checkpoint: { at: 2 } });
    await until(async () => (await todos.findOne('a').exec())?.title === 'second');
    await state.cancel();
    const renamed =
      'RxDB has renamed or removed this context. Without it, a late stream overwrites newer edits: find the comparison of a received ' +
      'state with the stored one in its downstream, change `takesOver` in packages/rxdb/src/late.ts and the range in its package.json.';
    expect(contexts.has(takesOver), `${renamed} It has: ${[...contexts.keys()].join(', ')}`).toBe(true);
    // The received state comes first.
    expect(contexts.get(takesOver)).toMatchObject([{ title: 'second' }, { title: 'first' }]);
  });
});
