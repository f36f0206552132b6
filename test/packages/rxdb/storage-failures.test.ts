// What a replication does when the storage of the application fails, for example because its quota is exceeded.
import type { RxStorage } from 'rxdb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { converged, newName, newStorage, until, World } from './support.ts';

/** A storage that refuses documents of collections while a condition holds. */
class FailingStorage {
  fails: ((document: { readonly id: string }) => boolean) | undefined;
  refusals = 0;

  storage(base: RxStorage<any, any> = newStorage()): RxStorage<any, any> {
    return {
      ...base,
      createStorageInstance: async (params) => {
        const instance = await base.createStorageInstance(params);
        if (params.collectionName !== 'docs') return instance;
        const write = instance.bulkWrite.bind(instance);
        instance.bulkWrite = async (rows, context) => {
          if (rows.some(({ document }) => this.fails?.(document as never))) {
            this.refusals += 1;
            throw new Error('The quota is exceeded.');
          }
          return write(rows, context);
        };
        return instance;
      },
    };
  }
}

describe('A replication whose storage fails for a time', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start();
  });
  afterEach(() => world.closeDatabases());
  afterAll(() => world.close());

  it('receives the changes of that time again', async () => {
    const list = await world.newList();
    await list.put('a', { title: 'a' });
    const failing = new FailingStorage();
    const todos = await world.open({ storage: failing.storage() });
    const state = world.replicate(todos, list);
    const errors: unknown[] = [];
    state.error$.subscribe((error) => errors.push(error));
    await state.awaitInitialReplication();
    failing.fails = () => true;
    await list.put('a', { title: 'changed' });
    await until(() => failing.refusals > 1);
    await list.put('b', { title: 'b' });
    failing.fails = undefined;
    await converged(todos, list);
    expect(String(errors[0])).toContain('quota');
    await list.put('c', { title: 'c' });
    await converged(todos, list);
  });

  it('stores no checkpoint after what it could not store, for the time after a restart', async () => {
    const list = await world.newList();
    for (let index = 0; index < 30; index += 1) await list.put(`r${index}`, { title: 'x' });
    const failing = new FailingStorage();
    const [name, storage] = [newName(), failing.storage()];
    const todos = await world.open({ name, storage });
    // The first pages fail, and later ones are stored.
    failing.fails = ({ id }) => id === 'r3';
    const state = world.replicate(todos, list, { pull: { batchSize: 5 }, retryTime: 600_000 });
    await until(async () => failing.refusals > 0 && (await todos.count().exec()) > 0);
    await state.cancel();
    failing.fails = undefined;
    await world.once(todos, list);
    await converged(todos, list);
    expect(await todos.count().exec()).toBe(30);
  });
});
