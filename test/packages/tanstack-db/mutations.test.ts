// Mutations: what is sent, when they settle, and what happens when the service refuses them.
import { createTransaction } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { anyDate, bigintText, ConflictError, isoDate } from '../../../packages/tanstack-db/src/index.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import { backendNamed, fill, startWorld, until, type World } from './support.ts';
import { inExtent } from '../../support/extent.ts';

let world: World;
const start = async (backend = 'memory', settings = {}): Promise<void> => {
  world = await startWorld(backendNamed(backend), settings);
};
afterEach(() => world.close());

const stored = async (id: string): Promise<Record<string, unknown>> => (await world.records.get(id)) as never;
const writes = (): readonly string[] =>
  world.requests
    .filter(({ method }) => method !== 'GET')
    .map(({ method, url }) => `${method} ${url.pathname.split('/').at(-1)!}`);

describe.each(inExtent(['sqlite'], ['memory', 'sqlite', 'postgresql']))('mutations on %s', (backend) => {
  beforeEach(() => start(backend));

  it('writes a new record with the id of the row', async () => {
    const items = world.items();
    await items.preload();
    const transaction = items.insert({ id: 'a', n: 1, nested: { a: null }, tags: ['x'] });
    expect(items.get('a')?.n).toBe(1);
    await transaction.when('settled');
    expect(await stored('a')).toMatchObject({ id: 'a', n: 1, nested: { a: null }, tags: ['x'] });
    expect(items.get('a')?.last_modified).toBe((await stored('a'))['last_modified']);
  });

  it('writes a record before the collection is synchronised', async () => {
    const items = world.items({ startSync: false });
    const { persist } = items.utils;
    await persist([{ type: 'insert', key: 'a', original: {}, modified: { id: 'a', n: 1 }, collection: items }]);
    expect(await stored('a')).toMatchObject({ n: 1 });
  });

  it('sends the changed attributes only', async () => {
    await fill(world, [{ id: 'a', n: 1, name: 'x' }] as never);
    const items = world.items();
    await items.preload();
    await items.update('a', (draft) => void (draft.n = 5)).when('settled');
    expect(await stored('a')).toMatchObject({ n: 5, name: 'x' });
    expect(writes().at(-1)).toBe('PATCH a');
  });

  it('removes attributes, also with special names, and keeps null', async () => {
    await fill(world, [{ id: 'a', n: 1, name: 'x', 'a/b~c': 1 }] as never);
    const items = world.items();
    await items.preload();
    await items
      .update('a', (draft) => {
        delete (draft as Record<string, unknown>)['a/b~c'];
        delete draft.n;
        draft.name = null;
      })
      .when('settled');
    const record = await stored('a');
    expect(record).toEqual({ id: 'a', name: null, last_modified: expect.any(Number) });
    expect(items.get('a')).toMatchObject({ name: null });
    expect(items.get('a')).not.toHaveProperty('n');
  });

  it('replaces nested objects and arrays as a whole', async () => {
    await fill(world, [{ id: 'a', nested: { a: 1, b: 2 }, tags: ['x', 'y'] }] as never);
    const items = world.items();
    await items.preload();
    await items
      .update('a', (draft) => {
        draft.nested = { a: 7 };
        draft.tags!.push('z');
      })
      .when('settled');
    expect(await stored('a')).toMatchObject({ nested: { a: 7 }, tags: ['x', 'y', 'z'] });
    expect((await stored('a'))['nested']).toEqual({ a: 7 });
  });

  it('deletes a record', async () => {
    await fill(world, [{ id: 'a', n: 1 }] as never);
    const items = world.items();
    await items.preload();
    await items.delete('a').when('settled');
    await expect(stored('a')).rejects.toMatchObject({ status: 404 });
    expect(items.has('a')).toBe(false);
  });

  it('sends many mutations of one transaction in batches', async () => {
    const items = world.items();
    await items.preload();
    const rows = Array.from({ length: 60 }, (_, n) => ({ id: `r${n}`, n }));
    await items.insert(rows).when('settled');
    expect(writes().filter((write) => write === 'POST batch')).toHaveLength(3);
    expect(await world.records.list().count()).toBe(60);
    await items
      .update(
        rows.map(({ id }) => id),
        (drafts) => drafts.forEach((draft) => (draft.n! += 100)),
      )
      .when('settled');
    expect(await stored('r7')).toMatchObject({ n: 107 });
    await items.delete(rows.slice(0, 30).map(({ id }) => id)).when('settled');
    expect(await world.records.list().count()).toBe(30);
    expect(items.size).toBe(30);
  });

  it('executes mutations of one record in their order', async () => {
    const items = world.items();
    await items.preload();
    const all = [items.insert({ id: 'a', n: 0 })];
    for (let n = 1; n <= 5; n++) all.push(items.update('a', (draft) => void (draft.n = n)));
    await Promise.all(all.map((transaction) => transaction.when('settled')));
    expect(await stored('a')).toMatchObject({ n: 5 });
    expect(items.get('a')?.n).toBe(5);
    all.push(
      items.update('a', (draft) => void (draft.n = 6)),
      items.delete('a'),
    );
    await Promise.all(all.map((transaction) => transaction.when('settled')));
    await expect(stored('a')).rejects.toMatchObject({ status: 404 });
  });

  it('takes mutations of a transaction with a function of its own', async () => {
    const items = world.items();
    await items.preload();
    const transaction = createTransaction({
      autoCommit: false,
      mutationFn: async ({ transaction: { mutations } }) => items.utils.persist(mutations),
    });
    transaction.mutate(() => {
      items.insert({ id: 'a', n: 1 });
      items.insert({ id: 'b', n: 2 });
      items.update('a', (draft) => void (draft.n = 3));
    });
    await transaction.commit();
    expect(await stored('a')).toMatchObject({ n: 3 });
    expect(await stored('b')).toMatchObject({ n: 2 });
  });

  it('stores dates and big integers by their codecs', async () => {
    interface Row {
      id: string;
      at: Date | null;
      late: Date;
      big: bigint;
    }
    const items = world.items({ fields: { at: isoDate, late: anyDate, big: bigintText } as never }) as unknown as {
      preload(): Promise<void>;
      insert(row: Row): { when(state: 'settled'): Promise<unknown> };
      update(id: string, change: (draft: Row) => void): { when(state: 'settled'): Promise<unknown> };
      get(id: string): Row | undefined;
    };
    await items.preload();
    const [at, late] = [new Date('2026-01-02T03:04:05.678Z'), new Date('2027-01-01T00:00:00Z')];
    await items.insert({ id: 'a', at, late, big: 2n ** 80n }).when('settled');
    expect(await stored('a')).toMatchObject({ at: '2026-01-02T03:04:05.678Z', big: String(2n ** 80n) });
    expect(items.get('a')).toMatchObject({ at, late, big: 2n ** 80n });
    await items
      .update('a', (draft) => {
        draft.at = null;
        draft.big += 1n;
      })
      .when('settled');
    expect(await stored('a')).toMatchObject({ at: null, big: String(2n ** 80n + 1n) });
    expect(items.get('a')).toMatchObject({ at: null, late, big: 2n ** 80n + 1n });
  });
});

describe('mutations of unusual rows', () => {
  beforeEach(() => start());

  it('set attributes with names that all objects of JavaScript have', async () => {
    await fill(world, [{ id: 'a', n: 1 }] as never);
    const items = world.items();
    await items.preload();
    const car = { constructor: 'Ferrari', toString: 'x', hasOwnProperty: false };
    await items.update('a', (draft) => void Object.assign(draft, car)).when('settled');
    expect(await stored('a')).toMatchObject(car);
    expect(items.get('a')).toMatchObject(car);
  });

  it('store what JSON has for other objects, and leave out members without a value', async () => {
    const items = world.items();
    await items.preload();
    class Point {
      readonly x = 1;
    }
    const nested = { at: new Date(0), none: undefined, point: new Point(), zero: -0 };
    await items.insert({ id: 'a', nested } as never).when('settled');
    expect((await stored('a'))['nested']).toEqual({ at: '1970-01-01T00:00:00.000Z', point: { x: 1 }, zero: 0 });
  });

  it('change and delete rows with values that their codec does not understand', async () => {
    const odd = { at: 'tomorrow', late: 5, big: { digits: 3 } };
    await fill(world, [
      { id: 'a', ...odd },
      { id: 'b', ...odd },
    ] as never);
    const items = world.items({
      fields: { at: isoDate, late: anyDate, big: bigintText } as never,
      onConflict: 'client',
    });
    await items.preload();
    expect(items.get('a')).toMatchObject(odd);
    await items.update('a', (draft) => void (draft.n = 2)).when('settled');
    expect(await stored('a')).toMatchObject({ ...odd, n: 2 });
    await items.delete('b').when('settled');
    expect(items.has('b')).toBe(false);
  });

  it('are sent in several requests where one would be too large', async () => {
    await world.close();
    await start('memory', { max_body_size: '10000', batch_max_requests: '10' });
    const items = world.items();
    await items.preload();
    const rows = Array.from({ length: 25 }, (_, n) => ({ id: `r${n}`, name: 'x'.repeat(1500) }));
    await items.insert(rows).when('settled');
    expect(await world.records.list().count()).toBe(25);
  });
});

describe('mutations that fail', () => {
  beforeEach(() => start());

  it.each([
    ['a date that is none', { at: new Date(Number.NaN) }],
    ['a big integer without a codec', { n: 1n }],
    ['a number that JSON does not have', { n: Number.NaN }],
    ['a symbol', { n: Symbol('s') }],
    ['a map', { nested: { a: new Map([[1, 2]]) } }],
    ['a function', { nested: [() => 1] }],
    ['an array with a hole', { tags: ['x', undefined] }],
    ['a date without a codec that is none', { nested: { at: new Date(Number.NaN) } }],
  ])('are refused for good with %s', async (_, row) => {
    const items = world.items({ fields: { at: isoDate } });
    await items.preload();
    await fill(world, [{ id: 'b', n: 1 }]);
    await until(() => items.has('b'));
    await expect(items.insert({ id: 'a', ...row } as never).when('settled')).rejects.toMatchObject({
      kind: 'validation',
      message: expect.stringMatching(/^The row cannot be stored: /),
    });
    const changed = items.update('b', (draft) => void Object.assign(draft, row));
    await expect(changed.when('settled')).rejects.toMatchObject({ kind: 'validation' });
    expect(writes().filter((write) => !write.startsWith('PUT'))).toEqual(['POST batch']);
    expect(await world.records.list().count()).toBe(1);
  });

  it('are rolled back when the user may not write', async () => {
    await world.client
      .bucket('b')
      .collections.permissions('c')
      .set({ read: ['system.Everyone'] });
    await fill(world, [{ id: 'a', n: 1 }] as never);
    const items = world.items({ client: world.clientOf('reader') });
    await items.preload();
    const transaction = items.update('a', (draft) => void (draft.n = 2));
    expect(items.get('a')?.n).toBe(2);
    await expect(transaction.when('settled')).rejects.toMatchObject({ status: 403 });
    expect(items.get('a')?.n).toBe(1);
    await expect(items.insert({ id: 'b' }).when('settled')).rejects.toMatchObject({ status: 403 });
    expect(items.has('b')).toBe(false);
    await expect(items.delete('a').when('settled')).rejects.toMatchObject({ status: 403 });
    expect(items.has('a')).toBe(true);
  });

  it('are rolled back when the schema of the collection refuses the record', async () => {
    await world.close();
    await start('memory', { experimental_collection_schema_validation: 'true' });
    const schema = { type: 'object', properties: { n: { type: 'number' } } };
    await world.client.bucket('b').collections.patch('c', { schema });
    const items = world.items();
    await items.preload();
    await items.insert({ id: 'a', n: 1 }).when('settled');
    await expect(items.insert({ id: 'b', n: 'one' as never }).when('settled')).rejects.toMatchObject({
      status: 400,
    });
    expect([...items.keys()]).toEqual(['a']);
    await items.update('a', (draft) => void (draft.n = 2)).when('settled');
    expect(items.get('a')?.n).toBe(2);
  });

  it('report what the other mutations of a batch did', async () => {
    await fill(world, [{ id: 'taken', n: 1 }] as never);
    const items = world.items({ onConflict: 'fail', syncMode: 'on-demand' });
    await items.preload();
    const failed = items
      .insert([
        { id: 'free', n: 1 },
        { id: 'taken', n: 2 },
      ])
      .when('settled');
    await expect(failed).rejects.toBeInstanceOf(ConflictError);
    expect(await stored('free')).toMatchObject({ n: 1 });
    expect(await stored('taken')).toMatchObject({ n: 1 });
  });

  it.each([1, 3])('are sent again alone, with %i in a request', async (batchSize) => {
    await fill(world, [{ id: 'a', n: 1 }, { id: 'b' }, { id: 'c', n: 1 }]);
    const proxy = await FaultyProxy.start(world.service.origin);
    onTestFinished(() => proxy.close());
    const items = world.items({ client: world.clientOf('owner', proxy.origin), batchSize });
    await items.preload();
    const { persist } = items.utils;
    const transaction = createTransaction({
      autoCommit: false,
      mutationFn: async ({ transaction: { mutations } }) => {
        proxy.rule = ({ target }) => (target.endsWith(failing) ? { status: 405 } : undefined);
        await expect(persist(mutations)).rejects.toMatchObject({ status: 405 });
        proxy.rule = undefined;
        await world.records.patch('a', { n: 3 });
        await world.records.put('b', { n: 3 });
        await world.records.delete('new');
        await persist(mutations);
      },
    });
    // The fourth mutation fails: with three in a request, it is the only one of its request.
    const failing = '/records/c';
    transaction.mutate(() => {
      items.update('a', (draft) => void (draft.n = 2));
      items.delete('b');
      items.insert({ id: 'new', n: 2 });
      items.update('c', (draft) => void (draft.n = 2));
    });
    await transaction.commit();
    const { data } = await world.records.list({ sort: ['id'] }).all();
    expect(data.map(({ id, n }) => [id, n])).toEqual([
      ['a', 3],
      ['b', 3],
      ['c', 2],
    ]);
    await until(() => items.get('a')?.n === 3 && items.get('b')?.n === 3 && !items.has('new'));
  });

  it('are not sent when the id is not one of the service', async () => {
    const items = world.items();
    await items.preload();
    await expect(items.insert({ id: 'not an id' }).when('settled')).rejects.toMatchObject({ status: 400 });
    expect(items.size).toBe(0);
  });

  it('explain a quota that is reached', async () => {
    await world.close();
    await start('memory', { includes: 'quotas', 'quotas.collection_max_items': '1' });
    const items = world.items();
    await items.preload();
    await items.insert({ id: 'a' }).when('settled');
    await expect(items.insert({ id: 'b' }).when('settled')).rejects.toMatchObject({ status: 507 });
    expect([...items.keys()]).toEqual(['a']);
  });
});
