// The operations of the client, on every backend.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, Coffer, CofferError, isRemoval, newId, type Collection } from '../../../packages/client/src/index.ts';
import type { TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';

interface Todo {
  readonly title: string;
  readonly done?: boolean;
  readonly tags?: readonly string[];
  readonly place?: { readonly room?: string; readonly shelf?: number };
}

/** Returns the error of a call that fails. */
async function errorOf(call: Promise<unknown>): Promise<CofferError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CofferError);
  return error as CofferError;
}

forEachBackend(({ name, start }) => {
  describe(`The client, with a service on ${name}`, () => {
    let service: TestService;
    let coffer: Coffer;
    let lists = 0;

    beforeAll(async () => {
      const settings = {
        includes: 'default_bucket history',
        experimental_permissions_endpoint: 'true',
        experimental_collection_schema_validation: 'true',
        paginate_by: '20',
      };
      service = await start({ settings });
      coffer = new Coffer(service.origin, { auth: basic('ann', 'pässword') });
      await coffer.buckets.create({ id: 'app' });
    });
    afterAll(() => service.close());

    /** Creates a collection of its own for a test. */
    async function todosOf(user = coffer): Promise<Collection<Todo>> {
      lists += 1;
      await coffer.bucket('app').collections.create({ id: `todos-${lists}` });
      return user.bucket('app').collection<Todo>(`todos-${lists}`);
    }

    it('creates, reads, replaces, changes and deletes an object', async () => {
      const todos = await todosOf();
      const made = await todos.create({ title: 'Milk' });
      expect(made).toEqual({ title: 'Milk', id: made.id, last_modified: made.last_modified });
      expect(made.id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
      expect(await todos.get(made.id)).toEqual(made);
      const put = await todos.put(made.id, { ...made, done: true });
      expect(put).toMatchObject({ title: 'Milk', done: true });
      expect(put.last_modified).toBeGreaterThan(made.last_modified);
      expect(await todos.patch(made.id, { tags: ['a'] })).toMatchObject({ title: 'Milk', done: true, tags: ['a'] });
      await todos.patch(made.id, { place: { room: 'cellar', shelf: 3 } }, { format: 'merge' });
      const merged = await todos.patch(made.id, { done: null, place: { shelf: null } }, { format: 'merge' });
      expect(merged).toMatchObject({ title: 'Milk', place: { room: 'cellar' } });
      expect(merged).not.toHaveProperty('done');
      const patched = await todos.patch(made.id, [
        { op: 'test', path: '/data/title', value: 'Milk' },
        { op: 'add', path: '/data/tags/-', value: 'b' },
      ]);
      expect(patched.tags).toEqual(['a', 'b']);
      const tombstone = await todos.delete(made.id, { ifMatch: patched.last_modified });
      expect(tombstone).toEqual({ id: made.id, last_modified: tombstone.last_modified, deleted: true });
      expect(await errorOf(todos.get(made.id))).toMatchObject({ kind: 'http', status: 404, errno: 110 });
    });

    it('keeps ids of every accepted form apart from paths', async () => {
      const todos = await todosOf();
      const id = '0-_A';
      await todos.put(id, { title: 'Odd' });
      expect(await todos.get(id)).toMatchObject({ id, title: 'Odd' });
      expect(await errorOf(todos.put('../app', { title: 'No' }))).toMatchObject({ status: 404 });
      // A path that ends in these would be that of the list, or of the collection.
      for (const hostile of ['', '.', '..']) {
        await expect(todos.delete(hostile)).rejects.toThrow(CofferError);
        expect(() => coffer.bucket('app').collection(hostile)).toThrow('is no id');
      }
      expect(await todos.list().count()).toBe(1);
      expect(await errorOf(todos.get('a/b?c#d'))).toMatchObject({ status: 404 });
    });

    it('does not overwrite with create, and shows the object that exists', async () => {
      const todos = await todosOf();
      const first = await todos.create({ id: 'one', title: 'First' });
      const error = await errorOf(todos.create({ id: 'one', title: 'Second' }));
      expect(error).toMatchObject({ status: 412, errno: 114, existing: first });
      expect(await todos.create({ id: 'one', title: 'First' }, { repeated: true })).toEqual(first);
      expect(await errorOf(todos.create({ id: 'one', title: 'Second' }, { repeated: true }))).toMatchObject({
        status: 412,
      });
    });

    it('compares preconditions, and recognises its own writes when a call is repeated', async () => {
      const todos = await todosOf();
      const first = await todos.create({ id: 'one', title: 'A' });
      const second = await todos.put('one', { title: 'B' }, { ifMatch: first.last_modified });
      const stale = await errorOf(todos.put('one', { title: 'C' }, { ifMatch: `"${first.last_modified}"` }));
      expect(stale).toMatchObject({ status: 412, existing: second, details: { existing: second } });
      expect(await todos.put('one', { title: 'B' }, { ifMatch: first.last_modified, repeated: true })).toEqual(second);
      const done = await todos.patch('one', { done: true }, { ifMatch: second.last_modified });
      expect(await todos.patch('one', { done: true }, { ifMatch: second.last_modified, repeated: true })).toEqual(done);
      expect(await errorOf(todos.delete('one', { ifMatch: first.last_modified }))).toMatchObject({ status: 412 });
      const gone = await todos.delete('one');
      expect(await todos.delete('one', { repeated: true })).toEqual(gone);
      expect(await errorOf(todos.delete('one'))).toMatchObject({ status: 404 });
      expect(await errorOf(todos.delete('never', { repeated: true }))).toMatchObject({ status: 404 });
    });

    it('returns undefined for what has not changed', async () => {
      const todos = await todosOf();
      const one = await todos.create({ title: 'A' });
      expect(await todos.get(one.id, { ifNoneMatch: one.last_modified })).toBeUndefined();
      expect(await todos.get(one.id, { ifNoneMatch: 1 })).toEqual(one);
      const { etag } = await todos.list().page();
      expect(await todos.list().pageIfChanged(etag)).toBeUndefined();
      await todos.create({ title: 'B' });
      expect((await todos.list().pageIfChanged(etag))?.data).toHaveLength(2);
    });

    it('sends the timestamp of an object only when it is asked to', async () => {
      const todos = await todosOf();
      const old = await todos.create({ title: 'Import' }, { lastModified: 1_500_000_000_123 });
      expect(old.last_modified).toBe(1_500_000_000_123);
      await todos.delete(old.id);
      const again = await todos.put(old.id, old);
      expect(again.last_modified).toBeGreaterThan(old.last_modified);
      const exact = 2 ** 52 - 1;
      expect(await todos.create({ title: 'Exact' }, { lastModified: exact })).toMatchObject({ last_modified: exact });
    });

    it('lists pages with filters, order, fields and totals', async () => {
      const todos = await todosOf();
      await coffer.batch((root) => {
        const same = root.bucket('app').collection<Todo>(`todos-${lists}`);
        return Array.from({ length: 25 }, (_, n) =>
          same.put(`t${n}`, { title: `T${String(n).padStart(2, '0')}`, done: n % 2 === 0, place: { shelf: n } }),
        );
      });
      const sizes: number[] = [];
      for await (const page of todos.list({ limit: 10, total: true })) {
        sizes.push(page.data.length);
        expect(page.total).toBe(25);
      }
      expect(sizes).toEqual([10, 10, 5]);
      const options = {
        filter: { done: true, 'place.shelf': { $gte: 4 }, $or: [{ title: { $like: 't0*' } }, { title: 'T24' }] },
        sort: ['-title'],
        fields: ['title', 'place.shelf'],
      } as const;
      const { data } = await todos.list(options).page();
      expect(data.map(({ title }) => title)).toEqual(['T24', 'T08', 'T06', 'T04']);
      expect(Object.keys(data[0]!).toSorted()).toEqual(['id', 'last_modified', 'place', 'title']);
      expect(await todos.list({ filter: { done: true } }).count()).toBe(13);
      const all = await todos.list({ params: { _sort: 'title', min_title: 'T03' } }).all();
      expect(all.data.map(({ title }) => title)).toEqual(
        Array.from({ length: 22 }, (_, n) => `T${String(n + 3).padStart(2, '0')}`),
      );
      expect(all).not.toHaveProperty('next');
      const first = await todos.list({ limit: 24 }).page();
      expect((await todos.list({ limit: 24 }).page(first.next)).data).toHaveLength(25 - first.data.length);
    });

    it('lists changes with tombstones and markers', async () => {
      const todos = await todosOf();
      const [a, b] = [await todos.create({ title: 'A', done: false }), await todos.create({ title: 'B', done: false })];
      const { etag } = await todos.list().page();
      expect(etag).toBe(String(b.last_modified));
      await todos.delete(a.id);
      await todos.patch(b.id, { done: true });
      const changes = await todos.changes({ since: etag }).all();
      expect(changes.data.map((change) => [change.id, isRemoval(change)])).toEqual([
        [b.id, false],
        [a.id, true],
      ]);
      const marked = await todos.changes({ since: etag, filter: { done: false }, gone: true }).page();
      expect(marked.data.find(({ id }) => id === b.id)).toMatchObject({ gone: true });
      expect((await todos.changes({ since: 0, before: b.last_modified }).page()).data).toEqual([]);
    });

    it('deletes what matches, page by page, if the list has not changed', async () => {
      const todos = await todosOf();
      await coffer.batch((root) =>
        Array.from({ length: 25 }, (_, n) =>
          root
            .bucket('app')
            .collection<Todo>(`todos-${lists}`)
            .put(`t${n}`, { title: 'x', done: n < 22 }),
        ),
      );
      expect(await errorOf(todos.deleteAll({ ifMatch: 5 }))).toMatchObject({ status: 412 });
      const { etag } = await todos.list().page();
      const deleted = await todos.deleteAll({ filter: { done: true }, ifMatch: etag });
      expect(deleted).toHaveLength(22);
      expect(deleted.every(({ deleted: flag }) => flag)).toBe(true);
      expect(await todos.list().count()).toBe(3);
    });

    it('changes permissions of single principals', async () => {
      const todos = await todosOf();
      const { user } = await coffer.info();
      await todos.put('shared', { title: 'S' }, { permissions: { read: ['system.Everyone'] } });
      const anonymous = new Coffer(service.origin);
      const theirs = anonymous.bucket('app').collection<Todo>(`todos-${lists}`);
      expect(await theirs.get('shared')).toMatchObject({ title: 'S' });
      const group = await coffer.bucket('app').groups.create({ members: [user!.id] });
      const principal = `/buckets/app/groups/${group.id}`;
      expect(await todos.permissions('shared').add({ read: [principal], write: [principal] })).toEqual({
        read: expect.arrayContaining(['system.Everyone', principal]) as unknown,
        write: expect.arrayContaining([user!.id, principal]) as unknown,
      });
      await todos.permissions('shared').remove({ read: ['system.Everyone', principal] });
      expect(await errorOf(theirs.get('shared'))).toMatchObject({ status: 401, errno: 104 });
      await todos.permissions('shared').set({ write: [user!.id], read: ['system.Authenticated'] });
      expect(await todos.permissions('shared').get()).toEqual({ write: [user!.id], read: ['system.Authenticated'] });
      expect((await todos.entry('shared')).data.title).toBe('S');
      const reachable = await coffer.permissions.list({ params: { uri: todos.pathOf('shared') } }).page();
      expect(reachable.data).toHaveLength(1);
    });

    it('executes a batch in one transaction', async () => {
      const todos = await todosOf();
      const kept = await todos.create({ title: 'Kept' });
      const results = await coffer.batch((root) => {
        const same = root.bucket('app').collection<Todo>(`todos-${lists}`);
        return [same.create({ title: 'New' }), same.get('missing'), same.list().count(), same.delete(kept.id)];
      });
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
      expect(results).toMatchObject([
        { value: { title: 'New' } },
        { reason: { status: 404, errno: 110 } },
        { value: 2 },
        { value: { deleted: true } },
      ]);
      expect(await coffer.batch(() => [])).toEqual([]);
    });

    it('reports a batch that was undone as failed in every part', async () => {
      const todos = await todosOf();
      const taken = await todos.create({ title: 'Taken' });
      const results = await coffer.batch((root) => {
        const same = root.bucket('app').collection<Todo>(`todos-${lists}`);
        return [same.put('x', { title: 'X' }), same.create({ title: 'Y' }, { lastModified: taken.last_modified })];
      });
      expect(results).toMatchObject([
        { status: 'rejected', reason: { status: 409 } },
        { status: 'rejected', reason: { status: 409, errno: 122 } },
      ]);
      expect(await todos.list().count()).toBe(1);
    });

    it('reads the history and the past of a collection', async () => {
      const todos = await todosOf();
      const one = await todos.create({ title: 'Before' });
      const two = await todos.put(one.id, { title: 'After' });
      const history = coffer.bucket('app').history;
      const { data } = await history.list({ filter: { record_id: one.id }, sort: ['last_modified'] }).page();
      expect(data.map(({ action, target }) => [action, target.data['title']])).toEqual([
        ['create', 'Before'],
        ['update', 'After'],
      ]);
      expect(await todos.snapshot(one.last_modified)).toEqual([one]);
      expect(await todos.snapshot(two.last_modified)).toEqual([two]);
    });

    it('uses the personal bucket by its alias', async () => {
      const mine = coffer.bucket('default').collection<Todo>('notes');
      await mine.create({ title: 'Mine' });
      expect((await mine.list({ limit: 1 }).all()).data).toMatchObject([{ title: 'Mine' }]);
      const { user } = await coffer.info();
      expect(await coffer.bucket(user!.bucket!).collection('notes').list().count()).toBe(1);
    });

    it('describes what is wrong with a request', async () => {
      await coffer.bucket('app').collections.put('strict', {
        schema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
      });
      const strict = coffer.bucket('app').collection('strict');
      expect(await errorOf(strict.create({ title: 5 }))).toMatchObject({
        kind: 'http',
        status: 400,
        errno: 107,
        message: '400 title in body: expected a string',
        details: [{ location: 'body', name: 'title', description: 'expected a string' }],
      });
      // Records with validation have the timestamp of the schema, which is no difference to what was sent.
      await strict.create({ id: 'one', title: 'x' });
      expect(await strict.create({ id: 'one', title: 'x' }, { repeated: true })).toMatchObject({ title: 'x' });
    });

    it('sends any other request', async () => {
      expect(await coffer.request('GET', '/__version__')).toMatchObject({ name: 'coffer' });
      expect(await errorOf(coffer.request('GET', '/nowhere'))).toMatchObject({ status: 404, errno: 111 });
      expect((await coffer.list('/buckets').list().page()).data.map(({ id }) => id)).toContain('app');
    });
  });
});

describe('New ids', () => {
  it('differ, and sort by their time', () => {
    const ids = Array.from({ length: 1000 }, newId);
    expect(new Set(ids).size).toBe(1000);
    expect(Number.parseInt(newId().replaceAll('-', '').slice(0, 12), 16)).toBeGreaterThan(1_700_000_000_000);
  });
});
