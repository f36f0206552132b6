// The mode `eager`: the whole list is in the collection, and follows it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fill, startWorld, until, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

describe('eager collections', () => {
  it('loads all records', async () => {
    await fill(world, [
      { id: 'a', n: 1 },
      { id: 'b', n: 2 },
    ] as never);
    const items = world.items();
    await items.preload();
    expect([...items.keys()].sort()).toEqual(['a', 'b']);
    expect(items.get('a')).toMatchObject({ id: 'a', n: 1, last_modified: expect.any(Number) });
  });

  it('is ready when the list is empty', async () => {
    const items = world.items();
    await items.preload();
    expect(items.size).toBe(0);
    expect(items.status).toBe('ready');
  });

  it('follows creations, updates and deletions of other clients', async () => {
    const items = world.items();
    await items.preload();
    await world.records.put('a', { n: 1 });
    await until(() => items.get('a')?.n === 1);
    await world.records.patch('a', { n: 2 });
    await until(() => items.get('a')?.n === 2);
    await world.records.delete('a');
    await until(() => !items.has('a'));
  });

  it('inserts, updates and deletes records, and settles once the stream has them', async () => {
    const items = world.items();
    await items.preload();
    await items.insert({ id: 'a', n: 1, name: 'x' }).when('settled');
    expect(await world.records.get('a')).toMatchObject({ n: 1, name: 'x' });
    expect(items.get('a')).toMatchObject({ n: 1, last_modified: expect.any(Number) });
    await items
      .update('a', (draft) => {
        draft.n = 2;
      })
      .when('settled');
    expect(await world.records.get('a')).toMatchObject({ n: 2, name: 'x' });
    await items.delete('a').when('settled');
    await expect(world.records.get('a')).rejects.toMatchObject({ status: 404 });
    expect(items.has('a')).toBe(false);
  });
});
