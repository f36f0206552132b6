// How records become documents, and documents records.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defaultIds } from '../../../packages/rxdb/src/index.ts';
import { contentOf, converged, recordsOf, todoSchema, until, World, type Stored } from './support.ts';

const withProperties = (properties: object, more: object = {}): object => ({
  ...todoSchema,
  properties: { ...todoSchema.properties, ...properties },
  ...more,
});

describe('A replicated document', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start();
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  it('has the id of its record as primary key, whatever the name of that property', async () => {
    const list = await world.newList();
    await list.put('p1', { name: 'Ann' });
    const schema = {
      version: 0,
      primaryKey: 'passport',
      type: 'object',
      properties: { passport: { type: 'string', maxLength: 20 }, name: { type: 'string' } },
      required: ['passport', 'name'],
    };
    const people = await world.open<Stored>({ schema });
    await people.insert({ passport: 'p2', name: 'Bob' });
    await world.once(people, list);
    expect(await contentOf(people)).toEqual({
      p1: { passport: 'p1', name: 'Ann' },
      p2: { passport: 'p2', name: 'Bob' },
    });
    expect(await recordsOf(list)).toEqual({ p1: { id: 'p1', name: 'Ann' }, p2: { id: 'p2', name: 'Bob' } });
    await (await people.findOne('p1').exec(true)).remove();
    await world.once(people, list);
    expect(Object.keys(await recordsOf(list))).toEqual(['p2']);
  });

  it('may have a composite key, which is translated into an id', async () => {
    const list = await world.newList();
    const schema = {
      version: 0,
      primaryKey: { key: 'key', fields: ['first', 'last'], separator: '|' },
      type: 'object',
      properties: {
        key: { type: 'string', maxLength: 100 },
        first: { type: 'string', maxLength: 40 },
        last: { type: 'string', maxLength: 40 },
        age: { type: 'number' },
      },
      required: ['key', 'first', 'last'],
    };
    const ids = {
      encode: (key: string) => `k${Buffer.from(key).toString('hex')}`,
      decode: (id: string) => Buffer.from(id.slice(1), 'hex').toString(),
    };
    const [one, two] = [await world.open<Stored>({ schema }), await world.open<Stored>({ schema })];
    await one.insert({ first: 'Ann', last: 'Özil', age: 3 });
    await world.once(one, list, { ids });
    await world.once(two, list, { ids });
    expect(Object.values(await contentOf(two))).toEqual([{ key: 'Ann|Özil', first: 'Ann', last: 'Özil', age: 3 }]);
    await (await two.findOne().exec(true)).remove();
    await world.once(two, list, { ids });
    await world.once(one, list, { ids });
    expect(await contentOf(one)).toEqual({});
  });

  const reserved = ['constructor', 'toString', 'valueOf', 'hasOwnProperty'];

  it('has another key for records whose id RxDB uses itself, and does not lose others of the same page', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await list.put('a', { title: 'a' });
    for (const id of reserved) await list.put(id, { title: id });
    await list.put('b', { title: 'b' });
    const state = world.replicate(todos, list);
    await until(async () => (await todos.count().exec()) === 6);
    expect(Object.keys(await contentOf(todos)).toSorted()).toEqual(
      ['a', 'b', ...reserved.map((id) => `${id}!`)].toSorted(),
    );
    await (await todos.findOne('constructor!').exec(true)).patch({ title: 'edited' });
    await (await todos.findOne('toString!').exec(true)).remove();
    await until(async () => (await recordsOf(list))['constructor']?.['title'] === 'edited');
    await list.put('valueOf', { title: 'theirs' });
    await until(async () => (await todos.findOne('valueOf!').exec())?.title === 'theirs');
    await state.awaitInSync();
    expect(Object.keys(await recordsOf(list)).toSorted()).toEqual(
      ['a', 'b', ...reserved.filter((id) => id !== 'toString')].toSorted(),
    );
  });

  it('cannot be created with a key that RxDB uses itself', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list);
    for (const id of [...reserved, '__proto__']) {
      await expect(todos.insert({ id, title: id })).rejects.toThrow('cannot be replicated');
    }
    await todos.insert({ id: 'a', title: 'a' });
    await state.awaitInSync();
    expect(Object.keys(await recordsOf(list))).toEqual(['a']);
  });

  it('is left out, with an error, if the application translates its id to a key that RxDB uses itself', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const ids = { encode: (key: string) => `k${key}`, decode: (id: string) => id.slice(1) };
    for (const key of ['a', 'constructor', 'b']) await list.put(`k${key}`, { title: key });
    const messages: unknown[] = [];
    const state = world.replicate(todos, list, { ids });
    state.error$.subscribe(({ parameters }) => messages.push(parameters.errors?.[0]?.message));
    await until(async () => (await todos.count().exec()) === 2);
    expect(messages).toEqual([expect.stringContaining('"kconstructor" is left out')]);
  });

  it('has one key for each id, and one id for each key', () => {
    const texts = [...reserved, '__proto__', 'a b', 'x--a_20b', 'x--zz', 'plain'].flatMap((text) => [
      text,
      `${text}!`,
      `x--${text}`,
      `x--${text}_21`,
      `${text}!!`,
    ]);
    for (const text of [...texts, 'x--_5f_5fproto_5f_5f']) {
      if (/^[a-z0-9][\w-]*$/i.test(text)) expect(defaultIds.encode(defaultIds.decode(text))).toBe(text);
      if (text in Object.prototype) expect(() => defaultIds.encode(text)).toThrow(text);
      else expect(defaultIds.decode(defaultIds.encode(text))).toBe(text);
      expect(defaultIds.decode(text) in Object.prototype).toBe(false);
    }
  });

  it('may have any text as primary key', async () => {
    const list = await world.newList();
    const keys = ['plain-1', "it's [ä] 😊", 'ann@example.com', '_', 'x--a', 'x--a_20b', 'x--_zz', '%41'];
    const [one, two] = [await world.open(), await world.open()];
    await one.bulkInsert(keys.map((id) => ({ id, title: id })));
    await world.once(one, list);
    await world.once(two, list);
    const expected = Object.fromEntries(keys.map((id) => [id, { id, title: id }]));
    expect(await contentOf(two)).toEqual(expected);
    expect(Object.keys(await recordsOf(list)).toSorted()).toEqual(keys.map((key) => defaultIds.encode(key)).toSorted());
    await (await two.findOne('_').exec(true)).patch({ title: 'changed' });
    await (await two.findOne('ann@example.com').exec(true)).remove();
    await world.once(two, list);
    await world.once(one, list);
    const { 'ann@example.com': _, ...rest } = expected;
    expect(await contentOf(one)).toEqual({ ...rest, _: { id: '_', title: 'changed' } });
  });

  it('has an id that is no encoded key as primary key, whichever client has chosen it', () => {
    for (const id of ['a', 'x--a', 'x--_', 'x--_41', 'x--_C3', 'x--a_2eb', 'X--_20']) {
      expect(defaultIds.encode(defaultIds.decode(id))).toBe(id);
    }
    expect(defaultIds.encode('a b')).toBe('x--a_20b');
    expect(defaultIds.decode('x--a_20b')).toBe('a b');
    expect(defaultIds.encode('x--a_20b')).toBe('x--x--a_5f20b');
  });

  it('has the timestamp only if its schema has it, and an old one causes no conflict', async () => {
    const list = await world.newList();
    const schema = withProperties({ last_modified: { type: 'number' } });
    const [plain, stamped] = [await world.open(), await world.open({ schema })];
    const { last_modified } = await list.put('a', { title: 'Milk' });
    await world.once(plain, list);
    await world.once(stamped, list);
    expect(await contentOf(plain)).toEqual({ a: { id: 'a', title: 'Milk' } });
    expect(await contentOf(stamped)).toEqual({ a: { id: 'a', title: 'Milk', last_modified } });
    const state = world.replicate(stamped, list);
    let conflicts = 0;
    state.conflict$.subscribe(() => (conflicts += 1));
    await state.awaitInitialReplication();
    for (const title of ['B', 'C', 'D']) {
      const document = await stamped.findOne('a').exec(true);
      await document.incrementalPatch({ title });
      await until(async () => (await list.get('a'))['title'] === title);
    }
    const latest = (await list.get('a')).last_modified;
    await until(async () => (await contentOf<any>(stamped))['a'].last_modified === latest);
    expect(conflicts).toBe(0);
    expect(latest).toBeGreaterThan(last_modified);
  });

  it('lacks attributes that its schema does not name, and a write keeps them in the record', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'Milk', done: false, colour: 'white', nested: { deep: [1] } });
    const todos = await world.open();
    await world.once(todos, list);
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'Milk', done: false } });
    const document = await todos.findOne('a').exec(true);
    await document.modify((data) => {
      const { done: _, ...rest } = data;
      return { ...rest, title: 'Oat milk' };
    });
    await world.once(todos, list);
    expect(await recordsOf(list)).toEqual({
      a: { id: 'a', title: 'Oat milk', colour: 'white', nested: { deep: [1] } },
    });
  });

  it('goes through the modifiers, also after a conflict', async () => {
    const list = await world.newList();
    await list.put('a', { name: 'milk', colour: 'white' });
    const options = {
      pull: { modifier: ({ name, ...rest }: any) => ({ ...rest, title: name.toUpperCase() }) },
      push: { modifier: async ({ title, ...rest }: any) => ({ ...rest, name: title.toLowerCase() }) },
    };
    const todos = await world.open();
    await world.once(todos, list, options);
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'MILK' } });
    await (await todos.findOne('a').exec(true)).patch({ title: 'BREAD' });
    await world.once(todos, list, options);
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', name: 'bread', colour: 'white' } });
    await list.put('a', { name: 'cheese' });
    await (await todos.findOne('a').exec(true)).patch({ title: 'WINE' });
    await world.once(todos, list, options);
    expect(await contentOf(todos)).toEqual({ a: { id: 'a', title: 'CHEESE' } });
    await list.delete('a');
    await world.once(todos, list, options);
    expect(await contentOf(todos)).toEqual({});
  });

  it('is not sent if the modifier withholds it', async () => {
    const list = await world.newList();
    const todos = await world.open();
    await todos.bulkInsert([
      { id: 'a', title: 'private' },
      { id: 'b', title: 'public' },
    ]);
    const sent: unknown[] = [];
    const state = world.replicate(todos, list, {
      push: { modifier: (document: any) => (document.title === 'private' ? null : document) },
    });
    state.sent$.subscribe((document) => sent.push(document.id));
    await state.awaitInitialReplication();
    await state.awaitInSync();
    expect(Object.keys(await recordsOf(list))).toEqual(['b']);
    expect(sent).toEqual(['b']);
    expect(Object.keys(await contentOf(todos))).toEqual(['a', 'b']);
  });

  it('is deleted with all attributes that validators of the storage require', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list);
    await state.awaitInitialReplication();
    const errors: unknown[] = [];
    state.error$.subscribe((error) => errors.push(error));
    // At once, so that the deletion may arrive before the document is stored.
    for (let round = 0; round < 5; round += 1) {
      await list.put(`a${round}`, { title: 'Milk' });
      await list.delete(`a${round}`);
    }
    await list.put('last', { title: 'Last' });
    await until(() => todos.findOne('last').exec());
    await state.awaitInSync();
    await converged(todos, list);
    expect(errors).toEqual([]);
  });

  it('needs a schema without names that the protocol reserves', async () => {
    const list = await world.newList();
    const start = async (schema: object): Promise<string> => {
      const collection = await world.open<any>({ schema });
      try {
        world.replicate(collection, list);
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const other = { primaryKey: 'key', required: ['key'], indexes: [] };
    const key = { key: { type: 'string', maxLength: 10 } };
    expect(await start(withProperties(key, other))).toContain('"id", which is not the primary key');
    expect(await start(withProperties({}, { attachments: {} }))).toContain('attachments: false');
    expect(await start(withProperties({ last_modified: { type: 'string' } }))).toContain('a number. Give it that type');
    const required = { required: ['id', 'title', 'last_modified'] };
    expect(await start(withProperties({ last_modified: { type: 'integer' } }, required))).toContain(
      'new documents do not have',
    );
  });
});

describe('A replication in one direction', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start();
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  it('writes nothing to the service with pull alone', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'A' });
    const todos = await world.open();
    await todos.insert({ id: 'b', title: 'B' });
    await world.once(todos, list, { push: undefined } as never);
    expect(Object.keys(await contentOf(todos))).toEqual(['a', 'b']);
    expect(Object.keys(await recordsOf(list))).toEqual(['a']);
  });

  it('reads no other records with push alone', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'A' });
    const todos = await world.open();
    await todos.insert({ id: 'b', title: 'B' });
    await world.once(todos, list, { pull: undefined } as never);
    expect(Object.keys(await contentOf(todos))).toEqual(['b']);
    expect(Object.keys(await recordsOf(list))).toEqual(['b', 'a']);
  });

  it('needs at least one', async () => {
    const list = await world.newList();
    const todos = await world.open();
    expect(() => world.replicate(todos, list, { pull: undefined, push: undefined } as never)).toThrow('UT3');
  });
});

/** A conflict handler whose edits win. */
const keepsEdits = {
  isEqual: (a: object, b: object) => isDeepStrictEqual(a, b),
  resolve: async ({ newDocumentState }: { newDocumentState: unknown }) => newDocumentState,
};

describe('A replication with a filter', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start();
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  it('has the records that match, as long as they match', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'A', done: false });
    await list.put('b', { title: 'B', done: true });
    const todos = await world.open();
    const pull = { filter: { done: false } };
    await world.once(todos, list, { pull });
    expect(Object.keys(await contentOf(todos))).toEqual(['a']);
    // While the collection is offline, and while it follows.
    await list.put('a', { title: 'A', done: true });
    await list.put('c', { title: 'C', done: false });
    await world.once(todos, list, { pull });
    expect(Object.keys(await contentOf(todos))).toEqual(['c']);
    const state = world.replicate(todos, list, { pull });
    await state.awaitInitialReplication();
    await list.patch('b', { done: false });
    await until(() => todos.findOne('b').exec());
    await list.patch('c', { done: true });
    await until(async () => (await todos.findOne('c').exec()) === null);
    // The other records are still there.
    expect(Object.keys(await recordsOf(list)).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['the service', undefined, { b: { id: 'b', title: 'B', done: false } }],
    [
      'this client',
      keepsEdits,
      { a: { id: 'a', title: 'mine', done: false }, b: { id: 'b', title: 'B', done: false } },
    ],
  ])(
    'loses a document with an edit whose record left the filter, unless its handler decides otherwise (%s)',
    async (...row) => {
      const [, conflictHandler, expected] = row;
      const list = await world.newList();
      for (const id of ['a', 'b']) await list.put(id, { title: id.toUpperCase(), done: false });
      const todos = await world.open(conflictHandler && { conflictHandler });
      const options = { pull: { filter: { done: false } } };
      const first = world.replicate(todos, list, options);
      await first.awaitInitialReplication();
      await first.cancel();
      await (await todos.findOne('a').exec(true)).patch({ title: 'mine' });
      await list.patch('a', { done: true });
      await world.once(todos, list, options);
      await until(async () => isDeepStrictEqual(await contentOf(todos), expected));
      expect((await list.get('a'))['done']).toBe(conflictHandler === undefined);
    },
  );

  it('can end with a document that was changed here', async () => {
    const list = await world.newList();
    const todos = await world.open();
    const state = world.replicate(todos, list, { pull: { filter: { done: false } } });
    await state.awaitInitialReplication();
    const document = await todos.insert({ id: 'a', title: 'A', done: false });
    await until(async () => (await list.list().count()) === 1);
    await document.patch({ done: true });
    await until(async () => (await todos.findOne('a').exec()) === null);
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'A', done: true } });
  });
});
