// Conflicts: mutations of records that other clients have changed meanwhile.
import { basic, CofferError } from '@coffer/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Coffer as OtherCoffer, CofferError as OtherError } from '../../../packages/client/src/index.ts';
import { ConflictError, type Conflict } from '../../../packages/tanstack-db/src/index.ts';
import { fill, startWorld, until, type Item, type Items, type World } from './support.ts';

let world: World;
afterEach(() => world.close());

const stored = async (id: string): Promise<Record<string, unknown>> => (await world.records.get(id)) as never;

/** A collection that hears nothing of other clients until `wake`, so that conflicts are certain. */
async function deaf(config: object = {}): Promise<Items> {
  const items = world.items({ transport: 'none', pollMs: 3_600_000, confirmTimeoutMs: 1, ...config });
  await items.preload();
  return items;
}

/** Makes the collection base its mutations on a state that another client has replaced meanwhile. */
async function outdated(change: () => Promise<unknown>, mutate: () => { when(state: 'settled'): Promise<unknown> }) {
  // Both happen before an update can arrive: the request of the other client is sent first.
  const changed = change();
  const transaction = mutate();
  await changed;
  return transaction.when('settled');
}

describe('conflicts', () => {
  beforeEach(async () => {
    world = await startWorld();
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

  it('keeps a record that others have created again after it was found deleted', async () => {
    const onConflict = async (): Promise<'server'> => {
      await world.records.put('a', { n: 7 });
      return 'server';
    };
    const items = await deaf({ onConflict, confirmTimeoutMs: 50 });
    await world.records.delete('a');
    await edit(items, { n: 2 });
    await until(() => items.get('a')?.n === 7);
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

  it('sees a conflict in an attribute of the application that is named like the timestamp of a schema', async () => {
    await world.records.put('a', { schema: 'x' });
    const items = await deaf({ onConflict: 'fail' });
    await world.records.put('a', { schema: 'theirs' });
    await expect(edit(items, { schema: 'mine' } as never)).rejects.toThrow('has changed');
    expect(await stored('a')).toMatchObject({ schema: 'theirs' });
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
        async () => undefined,
        () => one.update('a', (draft) => void (draft.n = 2)),
      ),
      outdated(
        async () => undefined,
        () => two.update('a', (draft) => void (draft.name = 'two')),
      ),
    ]);
    await until(() => [one, two].every((items) => items.get('a')?.n === 2 && items.get('a')?.name === 'two'));
  });
});
