// What happens to documents that the service refuses: reported and sent again later, or reverted. Meanwhile, others go on.
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeUnstorable } from '../../../packages/rxdb/src/storable.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { inExtent } from '../../support/extent.ts';
import { backendNamed, contentOf, converged, errorsOf, recordsOf, until, World, todoSchema } from './support.ts';

const backends = inExtent(['memory'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('A document, with a service on %s,', (backend) => {
  const { start } = backendNamed(backend);
  let world: World;
  beforeAll(async () => {
    world = await World.start(start, {
      batch_max_requests: '4',
      experimental_collection_schema_validation: 'true',
    });
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  const strict = {
    schema: { type: 'object', properties: { title: { type: 'string', maxLength: 5 } }, required: ['title'] },
  };

  it('that the schema of the service refuses is reported, and does not stop others of its batch', async () => {
    const list = await world.newList(strict);
    const todos = await world.open();
    await todos.bulkInsert([
      { id: 'a', title: 'short' },
      { id: 'b', title: 'much too long' },
      { id: 'c', title: 'fine' },
    ]);
    const state = world.replicate(todos, list);
    const errors = errorsOf(state);
    await until(() => errors.length >= 2);
    expect(errors[0]).toEqual({ code: 'RC_PUSH', status: 400, errno: 107 });
    expect(Object.keys(await recordsOf(list)).toSorted()).toEqual(['a', 'c']);
    // It is sent again until the service accepts it.
    const id = list.path.split('/').at(-2)!;
    await world.client.bucket('b').collections.put(id, {});
    await until(async () => (await list.list().count()) === 3);
    await state.awaitInSync();
  });

  it('that the service refuses is reverted, if the application decides so', async () => {
    const list = await world.newList(strict);
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'short' });
    await world.once(todos, list);
    const refused: unknown[] = [];
    const push = {
      onRefused: ({ status, details }: any, document: any) => {
        refused.push([status, details[0].name, document.id]);
        return 'revert' as const;
      },
    };
    await todos.insert({ id: 'new', title: 'much too long' });
    await (await todos.findOne('a').exec(true)).patch({ title: 'also much too long' });
    await world.once(todos, list, { push });
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'short' } });
    expect(refused.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
      [400, 'title', 'a'],
      [400, 'title', 'new'],
    ]);
  });

  it.each([400, 403, 405])('that a proxy refuses with %i is sent again', async (status) => {
    const list = await world.newList();
    const todos = await world.open();
    let isRefused = false;
    const client = world.clientOf('owner', {
      fetch: async (input, init) => {
        if (init?.method !== 'PUT' || isRefused) return fetch(input, init);
        isRefused = true;
        return new Response('<html></html>', { status });
      },
    });
    const refused: unknown[] = [];
    const onRefused = (error: unknown): 'revert' => {
      refused.push(error);
      return 'revert';
    };
    await todos.insert({ id: 'a', title: 'A' });
    world.replicate(todos, list, { client, push: { onRefused } });
    await until(async () => (await list.list().count()) === 1);
    expect(refused).toEqual([]);
  });

  const unique = { indexes: [{ fields: ['title'], unique: true }] };

  it('with a unique value that another record has is reported, and does not stop others of its batch', async () => {
    const list = await world.newList(unique);
    await list.put('theirs', { title: 'taken' });
    const todos = await world.open();
    await todos.bulkInsert(['free', 'taken', 'other'].map((title) => ({ id: title, title })));
    const state = world.replicate(todos, list);
    const errors = errorsOf(state);
    await until(() => errors.length >= 2);
    expect(errors[0]).toEqual({ code: 'RC_PUSH', status: 409, errno: 122 });
    expect(Object.keys(await recordsOf(list)).toSorted()).toEqual(['free', 'other', 'theirs']);
    await (await todos.findOne('taken').exec(true)).incrementalPatch({ title: 'mine' });
    // Its later state is sent in its place.
    await converged(todos, list);
  });

  it('with a unique value that another record has is reverted, if the application decides so', async () => {
    const list = await world.newList(unique);
    await list.put('theirs', { title: 'taken' });
    const todos = await world.open();
    await todos.bulkInsert([
      { id: 'a', title: 'free' },
      { id: 'b', title: 'taken' },
    ]);
    const refused: unknown[] = [];
    const push = {
      onRefused: ({ details }: any, { id }: any) => {
        refused.push([id, details.field]);
        return 'revert' as const;
      },
    };
    await world.once(todos, list, { push });
    expect(refused).toEqual([['b', 'title']]);
    expect(Object.keys(await contentOf(todos)).toSorted()).toEqual(['a', 'theirs']);
    await converged(todos, list);
  });

  it('that exceeds a quota is reported, and is stored when there is room', async () => {
    const own = await World.start(start, { includes: 'quotas', 'quotas.collection_max_items': '2' });
    onTestFinished(() => own.close());
    const list = await own.newList();
    const todos = await own.open();
    await todos.bulkInsert(['a', 'b', 'c'].map((id) => ({ id, title: id })));
    const state = own.replicate(todos, list);
    const errors = errorsOf(state);
    await until(() => errors.length >= 2);
    expect(errors[0]).toEqual({ code: 'RC_PUSH', status: 507, errno: 121 });
    const stored = Object.keys(await recordsOf(list));
    expect(stored).toHaveLength(2);
    await list.delete(stored[0]!);
    await until(async () => Object.keys(await recordsOf(list)).some((id) => !stored.includes(id)));
    await state.awaitInSync();
    await converged(todos, list);
  });

  it('that is too large for a batch is sent alone', async () => {
    const own = await World.start(start, { batch_max_bytes: '3000' });
    onTestFinished(() => own.close());
    const list = await own.newList();
    const todos = await own.open();
    const tags = ['x'.repeat(500)];
    await todos.bulkInsert(Array.from({ length: 12 }, (_, index) => ({ id: `t${index}`, title: 'T', tags })));
    await own.once(todos, list);
    await converged(todos, list);
  });

  describe('that waits while the schema of the collection changes', () => {
    const required = {
      schema: { type: 'object', properties: { size: { type: 'number' } }, required: ['size'] },
    };

    /** Creates a document here and changes another one; then the list requires the attribute `size`. */
    async function prepare() {
      const list = await world.newList();
      await list.put('a', { title: 'old' });
      const todos = await world.open();
      await world.once(todos, list);
      await todos.insert({ id: 'new', title: 'mine' });
      await (await todos.findOne('a').exec(true)).patch({ title: 'mine' });
      await todos.insert({ id: 'fine', title: 'mine', size: 1 });
      await world.client.bucket('b').collections.put(list.path.split('/').at(-2)!, required);
      return { list, todos };
    }

    it('stays here with an error that names the attribute, until it is repaired', async () => {
      const { list, todos } = await prepare();
      const state = world.replicate(todos, list);
      const errors: any[] = [];
      state.error$.subscribe((error) => errors.push(error.parameters.errors?.[0]));
      await until(() => errors.length >= 2);
      expect(errors[0].extensions).toMatchObject({
        status: 400,
        details: [{ name: expect.stringMatching(/^(size|data\.size)?$/) }],
      });
      expect(errors[0].message).toContain('size');
      expect(await recordsOf(list)).toEqual({
        a: { id: 'a', title: 'old' },
        fine: expect.objectContaining({ title: 'mine', size: 1 }),
      });
      expect(Object.values(await contentOf(todos)).map(({ title }) => title)).toEqual(['mine', 'mine', 'mine']);
      for (const id of ['a', 'new']) await (await todos.findOne(id).exec(true)).incrementalPatch({ size: 2 });
      await state.awaitInSync();
      await until(async () => (await list.list().count()) === 3);
      const records = await recordsOf(list);
      expect([records['a'], records['new']]).toMatchObject([
        { title: 'mine', size: 2 },
        { title: 'mine', size: 2 },
      ]);
    });

    it('is dropped if the application decides so', async () => {
      const { list, todos } = await prepare();
      const refused: string[] = [];
      const onRefused = (_: unknown, { id }: { id: string }) => {
        refused.push(id);
        return 'revert' as const;
      };
      await world.once(todos, list, { push: { onRefused } });
      expect(refused.toSorted()).toEqual(['a', 'new']);
      const content = await contentOf(todos);
      expect(Object.keys(content).toSorted()).toEqual(['a', 'fine']);
      expect(content['a']).toMatchObject({ title: 'old' });
    });

    it('is reported if the schema of the collection here refuses what others write there, and does not stop others', async () => {
      const list = await world.newList();
      const todos = await world.open();
      const state = world.replicate(todos, list);
      const errors = errorsOf(state);
      await state.awaitInitialReplication();
      await list.put('odd', { title: 'x'.repeat(200) });
      await until(() => errors.length > 0);
      expect(errors[0]).toMatchObject({ code: 'RC_PULL' });
      await list.put('fine', { title: 'fine' });
      await until(() => todos.findOne('fine').exec());
      await list.put('odd', { title: 'short' });
      await until(() => todos.findOne('odd').exec());
    });
  });

  /** Shares a list with a record with a guest, whose collection has it. */
  async function shared() {
    const list = await world.newList();
    await list.put('a', { title: 'A' });
    const guest = world.clientOf('guest');
    const rights = { write: [(await guest.info()).user!.id] };
    const access = world.client.bucket('b').collections.permissions(list.path.split('/').at(-2)!);
    const grant = async (): Promise<unknown> => access.add(rights);
    const revoke = async (): Promise<unknown> => access.remove(rights);
    await grant();
    const todos = await world.open();
    await world.once(todos, list, { client: guest });
    return { list, guest, todos, grant, revoke };
  }

  it('of a user whose access was revoked meanwhile stays here, and is sent when access is back', async () => {
    const { list, guest, todos, grant, revoke } = await shared();
    await (await todos.findOne('a').exec(true)).patch({ title: 'mine' });
    await todos.insert({ id: 'b', title: 'mine' });
    await revoke();
    const state = world.replicate(todos, list, { client: guest });
    const errors = errorsOf(state);
    await until(() => ['RC_PULL', 'RC_PUSH'].every((code) => errors.some((error) => error.code === code)));
    expect(new Set(errors.map(({ status }) => status))).toEqual(new Set([403]));
    expect(await contentOf(todos)).toMatchObject({ a: { title: 'mine' }, b: { title: 'mine' } });
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'A' } });
    await grant();
    await until(async () => (await list.list().count()) === 2);
    await converged(todos, list);
    expect((await list.get('a'))['title']).toBe('mine');
  });

  it('of a user whose access was revoked is reverted after a restart, if the application decides so', async () => {
    const { list, guest, todos, revoke } = await shared();
    await revoke();
    await (await todos.findOne('a').exec(true)).patch({ title: 'mine' });
    world.replicate(todos, list, { client: guest, push: { onRefused: () => 'revert' } });
    await until(async () => (await contentOf(todos))['a']?.['title'] === 'A');
  });

  it('with an id that the service refuses can be deleted, and stops others no longer', async () => {
    const list = await world.newList();
    const { properties } = todoSchema;
    const schema = { ...todoSchema, properties: { ...properties, id: { type: 'string', maxLength: 1000 } } };
    const todos = await world.open({ schema });
    const id = 'ü'.repeat(150);
    await todos.insert({ id, title: 'long' });
    const state = world.replicate(todos, list);
    const errors = errorsOf(state);
    await until(() => errors.some(({ status }) => status === 400));
    await (await todos.findOne(id).exec(true)).remove();
    await state.awaitInSync();
    await todos.insert({ id: 'b', title: 'B' });
    await until(async () => (await list.list().count()) === 1);
  });

  it('may not be written by a caller without permission, and is still there', async () => {
    const list = await world.newList();
    const collections = world.client.bucket('b').collections;
    await collections.permissions(list.path.split('/').at(-2)!).add({ read: ['system.Everyone'] });
    const todos = await world.open();
    await todos.insert({ id: 'a', title: 'A' });
    const state = world.replicate(todos, list, { client: world.clientOf('reader') });
    const errors = errorsOf(state);
    await until(() => errors.length > 0);
    expect(errors[0]).toEqual({ code: 'RC_PUSH', status: 403, errno: 121 });
    await collections.permissions(list.path.split('/').at(-2)!).add({ 'record:create': ['system.Authenticated'] });
    await until(async () => (await list.list().count()) === 1);
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'A' } });
  });
});

describe('Values that the service cannot store', () => {
  it('are found in any depth, with what to do', () => {
    class Point {
      readonly x = 1;
    }
    const found = (value: unknown): string | undefined => describeUnstorable({ a: value });
    expect(found({ b: [1, Number.NaN] })).toMatch(/^"a\.b\[1\]" is NaN, .*Store null/);
    expect(found(-Infinity)).toContain('"a" is -Infinity');
    expect(found(5n)).toContain('digits as a text');
    expect(found(new Date(0))).toContain('toISOString()');
    expect(found(new Map())).toContain('class Map');
    expect(found(new Point())).toContain('class Point');
    expect(found(new Uint8Array(1))).toContain('class Uint8Array');
    expect(found([undefined])).toContain('"a[0]" is of the type undefined');
    expect(found(() => 1)).toContain('of the type function');
    expect(found(Symbol('s'))).toContain('of the type symbol');
  });

  it('are none of those of JSON', () => {
    const value = {
      text: '',
      zero: -0,
      yes: true,
      none: null,
      left: undefined,
      list: [[{}]],
      deep: Object.create(null),
    };
    expect(describeUnstorable(value)).toBeUndefined();
  });

  it('are refused by the replication, which others pass', async () => {
    const world = await World.start(startTestService);
    onTestFinished(() => world.close());
    const list = await world.newList();
    const todos = await world.open();
    await todos.bulkInsert(['a', 'b', 'c', 'd'].map((id) => ({ id, title: id })));
    const values: Record<string, unknown> = { a: Number.NaN, b: new Date(0), d: 'x\0' };
    const refused: [string, string][] = [];
    const push = {
      modifier: (document: any) => ({ ...document, extra: values[document.id] }),
      onRefused: (error: Error, { id }: { id: string }) => {
        refused.push([id, error.message]);
        return 'retry' as const;
      },
    };
    const state = world.replicate(todos, list, { push });
    await until(() => refused.length >= 6);
    await state.cancel();
    const messages = new Map(refused);
    expect(messages.get('a')).toMatch(/^The document "a" cannot be stored: "extra" is NaN/);
    expect(messages.get('b')).toContain('Store the text of toISOString(), or translate it in push.modifier');
    expect(messages.get('d')).toContain('null characters and lone surrogates are not allowed');
    expect(Object.keys(await recordsOf(list))).toEqual(['c']);
  });

  it('are refused as primary keys, which others pass', async () => {
    const world = await World.start(startTestService);
    onTestFinished(() => world.close());
    const list = await world.newList();
    const todos = await world.open();
    await todos.bulkInsert(['a', 'half\ud800'].map((id) => ({ id, title: 'x' })));
    const refused: string[] = [];
    const push = {
      onRefused: (error: Error) => {
        refused.push(error.message);
        return 'revert' as const;
      },
    };
    await world.once(todos, list, { push });
    expect(refused).toEqual([expect.stringContaining('its primary key makes no id')]);
    expect(Object.keys(await contentOf(todos))).toEqual(['a']);
    expect(Object.keys(await recordsOf(list))).toEqual(['a']);
  });
});
