// Mutations: what is sent, when they settle, and what happens when other clients write the same records.
import { basic, CofferError } from '@coffer/client';
import { createTransaction } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Coffer as OtherCoffer, CofferError as OtherError } from '../../../packages/client/src/index.ts';
import { anyDate, bigintText, ConflictError, isoDate, type Conflict } from '../../../packages/tanstack-db/src/index.ts';
import { backendNamed, fill, startWorld, until, type Item, type Items, type World } from './support.ts';
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

describe.each(inExtent(['memory', 'sqlite'], ['memory', 'sqlite', 'postgresql']))('mutations on %s', (backend) => {
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

describe('mutations that fail', () => {
  beforeEach(() => start());

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

/** Makes the collection base its mutations on a state that another client has replaced meanwhile. */
async function outdated(
  items: Items,
  change: () => Promise<unknown>,
  mutate: () => { when(state: 'settled'): Promise<unknown> },
) {
  // Both happen before an update can arrive: the request of the other client is sent first.
  const changed = change();
  const transaction = mutate();
  await changed;
  void items;
  return transaction.when('settled');
}

/** A collection that hears nothing of other clients until `wake`, so that conflicts are certain. */
async function deaf(config: object = {}): Promise<Items> {
  const items = world.items({ transport: 'none', pollMs: 3_600_000, confirmTimeoutMs: 1, ...config });
  await items.preload();
  return items;
}

describe('conflicts', () => {
  beforeEach(async () => {
    await start();
    await fill(world, [{ id: 'a', n: 1, name: 'x', done: false }] as never);
  });

  const edit = (items: Items, change: Partial<Item>) =>
    items.update('a', (draft) => void Object.assign(draft, change)).when('settled');

  it('merges attributes that only one side has changed', async () => {
    const items = await deaf();
    await world.records.patch('a', { name: 'other' });
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2, name: 'other', done: false });
    await until(() => items.get('a')?.name === 'other');
  });

  it('are resolved with a client of another copy of its package', async () => {
    const client = new OtherCoffer(world.service.origin, { auth: basic('owner', 'secret of owner') });
    expect(OtherError).not.toBe(CofferError);
    const items = await deaf({ client });
    await world.records.patch('a', { name: 'other' });
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2, name: 'other' });
  });

  it('merges with the value of the mutation where both sides have changed', async () => {
    const items = await deaf({ onConflict: 'merge' });
    await world.records.patch('a', { n: 10, name: 'other' });
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2, name: 'other' });
  });

  it('keeps the state of the service', async () => {
    const items = await deaf({ onConflict: 'server' });
    await world.records.patch('a', { n: 10 });
    await edit(items, { n: 2, name: 'mine' });
    expect(await stored('a')).toMatchObject({ n: 10, name: 'x' });
    await until(() => items.get('a')?.n === 10);
    expect(items.get('a')?.name).toBe('x');
  });

  it('writes the state of the client as a whole', async () => {
    const items = await deaf({ onConflict: 'client' });
    await world.records.patch('a', { n: 10, name: 'other', more: true });
    await edit(items, { done: true });
    const record = await stored('a');
    expect(record).toMatchObject({ n: 1, name: 'x', done: true });
    expect(record).not.toHaveProperty('more');
  });

  it('fails with what a dialog needs', async () => {
    const items = await deaf({ onConflict: 'fail' });
    await world.records.patch('a', { n: 10 });
    const failed = edit(items, { n: 2 });
    await expect(failed).rejects.toBeInstanceOf(ConflictError);
    const { conflict } = (await failed.then(
      () => undefined,
      (error: unknown) => error,
    )) as ConflictError;
    expect(conflict).toMatchObject({ type: 'update', id: 'a', base: { n: 1 }, local: { n: 2 }, server: { n: 10 } });
    expect(items.get('a')?.n).toBe(1);
  });

  it('asks a function, which returns a row', async () => {
    const seen: Conflict<Item>[] = [];
    const onConflict = async (conflict: Conflict<Item>): Promise<Item> => {
      seen.push(conflict);
      return { ...conflict.server!, n: conflict.server!.n! + (conflict.local!.n! - conflict.base!.n!) };
    };
    const items = await deaf({ onConflict });
    await world.records.patch('a', { n: 10 });
    await edit(items, { n: 4 });
    expect(await stored('a')).toMatchObject({ n: 13, name: 'x' });
    expect(seen).toHaveLength(1);
  });

  it('asks a function, which returns a resolution', async () => {
    const items = await deaf({ onConflict: () => 'server' });
    await world.records.patch('a', { n: 10 });
    await edit(items, { n: 4 });
    expect(await stored('a')).toMatchObject({ n: 10 });
  });

  it('rolls back with the error of a function', async () => {
    const items = await deaf({
      onConflict: () => {
        throw new Error('cancelled by the user');
      },
    });
    await world.records.patch('a', { n: 10 });
    await expect(edit(items, { n: 4 })).rejects.toThrow('cancelled by the user');
    expect(await stored('a')).toMatchObject({ n: 10 });
  });

  it('sees no conflict in a change that has the same result', async () => {
    const items = await deaf({ onConflict: 'fail' });
    await world.records.patch('a', { n: 2 });
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2 });
  });

  it('sees no conflict in a new timestamp alone', async () => {
    const items = await deaf({ onConflict: 'fail' });
    await world.records.put('a', { n: 1, name: 'x', done: false });
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2 });
  });

  it('sees no conflict in own changes that have not arrived', async () => {
    const items = await deaf({ onConflict: 'fail' });
    await Promise.all([edit(items, { n: 2 }), edit(items, { name: 'y' }), edit(items, { n: 3 })]);
    await edit(items, { n: 4 });
    expect(await stored('a')).toMatchObject({ n: 4, name: 'y' });
  });

  it('keeps deletions of others when it merges', async () => {
    const items = await deaf({ onConflict: 'merge' });
    await world.records.delete('a');
    await edit(items, { n: 2 });
    await expect(stored('a')).rejects.toMatchObject({ status: 404 });
    await until(() => !items.has('a'));
  });

  it('creates records again that others have deleted, if the client wins', async () => {
    const items = await deaf({ onConflict: 'client' });
    await world.records.delete('a');
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2, name: 'x' });
    await until(() => items.get('a')?.n === 2);
  });

  it('does not delete what others have changed, when it merges', async () => {
    const items = await deaf({ onConflict: 'merge' });
    await world.records.patch('a', { n: 10 });
    await items.delete('a').when('settled');
    expect(await stored('a')).toMatchObject({ n: 10 });
    await until(() => items.get('a')?.n === 10);
  });

  it('deletes what others have changed, if the client wins', async () => {
    const items = await deaf({ onConflict: 'client' });
    await world.records.patch('a', { n: 10 });
    await items.delete('a').when('settled');
    await expect(stored('a')).rejects.toMatchObject({ status: 404 });
  });

  it('is content when a record was deleted twice', async () => {
    const items = await deaf({ onConflict: 'fail' });
    await world.records.delete('a');
    await items.delete('a').when('settled');
    await until(() => !items.has('a'));
  });

  it.each([
    ['server', { n: 10, name: undefined }],
    ['client', { n: 2, name: 'mine' }],
    ['merge', { n: 2, name: 'mine', done: true }],
  ] as const)('resolves two creations of one id: %s', async (onConflict, expected) => {
    const items = await deaf({ onConflict });
    await world.records.put('b', { n: 10, done: true });
    await items.insert({ id: 'b', n: 2, name: 'mine' }).when('settled');
    const { name, ...record } = await stored('b');
    expect({ ...record, name }).toMatchObject(expected);
  });

  it('recognises a creation whose response was lost', async () => {
    const items = await deaf({ onConflict: 'fail' });
    await world.records.put('b', { n: 2 });
    await items.insert({ id: 'b', n: 2 }).when('settled');
    expect(await stored('b')).toMatchObject({ n: 2 });
  });

  it('resolves conflicts inside a batch one by one', async () => {
    await fill(world, [
      { id: 'b', n: 1 },
      { id: 'c', n: 1 },
    ] as never);
    const items = await deaf({ onConflict: 'merge' });
    await world.records.patch('b', { name: 'other' });
    await items.update(['a', 'b', 'c'], (drafts) => drafts.forEach((draft) => (draft.n = 5))).when('settled');
    expect(await stored('b')).toMatchObject({ n: 5, name: 'other' });
    expect(await stored('c')).toMatchObject({ n: 5 });
  });

  it('gives up when the record keeps changing', async () => {
    const items = await deaf({
      onConflict: async () => {
        await world.records.patch('a', { n: Math.random() });
        return 'merge';
      },
    });
    await world.records.patch('a', { n: 10 });
    await expect(edit(items, { name: 'mine' })).rejects.toThrow('keeps changing');
  });

  it('knows the state without last_modified in rows', async () => {
    const items = await deaf({ onConflict: 'server', lastModified: false });
    expect(items.get('a')).not.toHaveProperty('last_modified');
    await edit(items, { n: 2 });
    expect(await stored('a')).toMatchObject({ n: 2 });
    await world.records.patch('a', { n: 10 });
    await edit(items, { n: 3 });
    expect(await stored('a')).toMatchObject({ n: 10 });
  });

  it('converges when two clients write at the same time', async () => {
    const [one, two] = [world.items(), world.items()];
    await Promise.all([one.preload(), two.preload()]);
    await Promise.all([
      outdated(
        one,
        async () => undefined,
        () => one.update('a', (draft) => void (draft.n = 2)),
      ),
      outdated(
        two,
        async () => undefined,
        () => two.update('a', (draft) => void (draft.name = 'two')),
      ),
    ]);
    await until(() => [one, two].every((items) => items.get('a')?.n === 2 && items.get('a')?.name === 'two'));
  });
});
