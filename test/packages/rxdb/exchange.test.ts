// What goes between a collection and a list, on every backend.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { forEachBackend } from '../../support/backends.ts';
import { contentOf, converged, errorsOf, newName, newStorage, recordsOf, until, World, type Todo } from './support.ts';

forEachBackend(({ name, start }) => {
  describe(`A replicated collection, with a service on ${name},`, () => {
    let world: World;
    beforeAll(async () => {
      world = await World.start(start);
    });
    afterEach(() => world.closeDatabases());
    afterAll(() => world.close());

    it('has the records of the list, and the list its documents', async () => {
      const list = await world.newList();
      await list.put('a', { title: 'Milk', tags: ['x'], place: { room: 'cellar' } });
      const todos = await world.open();
      await todos.insert({ id: 'b', title: 'Bread', done: false, size: 3 });
      await world.once(todos, list);
      const expected = {
        a: { id: 'a', title: 'Milk', tags: ['x'], place: { room: 'cellar' } },
        b: { id: 'b', title: 'Bread', done: false, size: 3 },
      };
      expect(await contentOf(todos)).toEqual(expected);
      expect(await recordsOf(list)).toEqual(expected);
    });

    it('passes changes and deletions on, in both directions, while it is live', async () => {
      const list = await world.newList();
      const [one, two] = [await world.open(), await world.open()];
      const states = [world.replicate(one, list), world.replicate(two, list)];
      const errors = states.map(errorsOf);
      await Promise.all(states.map((state) => state.awaitInitialReplication()));
      const milk = await one.insert({ id: 'a', title: 'Milk' });
      await until(() => two.findOne('a').exec());
      await milk.patch({ done: true });
      await until(async () => (await two.findOne('a').exec())?.done);
      const theirs = await two.findOne('a').exec(true);
      await theirs.remove();
      await until(async () => (await one.findOne('a').exec()) === null);
      await one.insert({ id: 'a', title: 'Again' });
      await until(async () => (await two.findOne('a').exec())?.title === 'Again');
      await list.put('c', { title: 'Of another client' });
      await until(() => one.findOne('c').exec());
      await list.delete('c');
      await until(async () => (await one.findOne('c').exec()) === null);
      await Promise.all(states.map((state) => state.awaitInSync()));
      await converged(one, list);
      await converged(two, list);
      expect(errors).toEqual([[], []]);
    });

    it('continues at its checkpoint after a restart, and sends what was written offline', async () => {
      const list = await world.newList();
      const [database, storage] = [newName(), newStorage()];
      const before = await world.open({ name: database, storage });
      await before.bulkInsert([
        { id: 'a', title: 'A' },
        { id: 'b', title: 'B' },
        { id: 'c', title: 'C' },
      ]);
      await world.once(before, list);
      await (await before.findOne('a').exec(true)).patch({ title: 'A offline' });
      await (await before.findOne('b').exec(true)).remove();
      await list.put('c', { title: 'C changed' });
      await list.put('d', { title: 'D' });
      await world.once(before, list);
      expect(await recordsOf(list)).toEqual({
        a: { id: 'a', title: 'A offline' },
        c: { id: 'c', title: 'C changed' },
        d: { id: 'd', title: 'D' },
      });
      await converged(before, list);
    });

    it('keeps the state of the service in a conflict, unless a handler decides otherwise', async () => {
      const list = await world.newList();
      const merge = {
        isEqual: (a: Todo, b: Todo) => a.title === b.title && a.done === b.done,
        resolve: ({ newDocumentState, realMasterState }: { newDocumentState: Todo; realMasterState: Todo }) => ({
          ...realMasterState,
          done: newDocumentState.done,
        }),
      };
      const [plain, merging] = [await world.open(), await world.open({ conflictHandler: merge })];
      await list.put('a', { title: 'Milk', done: false });
      await world.once(plain, list);
      await world.once(merging, list);
      await list.put('a', { title: 'Oat milk', done: false });
      await (await plain.findOne('a').exec(true)).patch({ title: 'Soy milk' });
      await world.once(plain, list);
      expect(await contentOf(plain)).toEqual({ a: { id: 'a', title: 'Oat milk', done: false } });
      await (await merging.findOne('a').exec(true)).patch({ done: true });
      await world.once(merging, list);
      await world.once(plain, list);
      const merged = { a: { id: 'a', title: 'Oat milk', done: true } };
      expect([await contentOf(merging), await contentOf(plain), await recordsOf(list)]).toEqual([
        merged,
        merged,
        merged,
      ]);
    });

    it('transfers more documents than fit a page or a batch', async () => {
      const list = await world.newList();
      const [one, two] = [await world.open(), await world.open()];
      const todos = Array.from({ length: 130 }, (_, index) => ({ id: `t${index}`, title: `T ${index}` }));
      await one.bulkInsert(todos);
      await world.once(one, list, { push: { batchSize: 60 } });
      expect(Object.keys(await recordsOf(list))).toHaveLength(130);
      await world.once(two, list, { pull: { batchSize: 20 } });
      expect(await contentOf(two)).toEqual(await contentOf(one));
      await one.find().remove();
      await world.once(one, list);
      expect(await recordsOf(list)).toEqual({});
      await world.once(two, list, { pull: { batchSize: 20 } });
      expect(await contentOf(two)).toEqual({});
    });
  });
});
