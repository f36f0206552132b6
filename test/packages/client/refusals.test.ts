// What the client reports when a service refuses writes that it accepted before.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, Coffer, CofferError } from '../../../packages/client/src/index.ts';
import type { TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';

async function errorOf(call: Promise<unknown>): Promise<CofferError> {
  const error = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CofferError);
  return error as CofferError;
}

forEachBackend(({ name, start }) => {
  describe(`A service on ${name} that refuses writes`, () => {
    let service: TestService;
    let coffer: Coffer;
    beforeAll(async () => {
      const settings = {
        includes: 'quotas',
        'quotas.collection_max_items': '2',
        experimental_collection_schema_validation: 'true',
      };
      service = await start({ settings });
      coffer = new Coffer(service.origin, { auth: basic('ann', 'secret of ann') });
      await coffer.buckets.create({ id: 'b' });
    });
    afterAll(() => service.close());

    it('names the attribute that a changed schema requires, and returns older records as they are', async () => {
      await coffer.bucket('b').collections.create({ id: 'todos' });
      const todos = coffer.bucket('b').collection<{ title: string; size?: number }>('todos');
      const { last_modified } = await todos.create({ id: 'old', title: 'Old' });
      const schema = { type: 'object', properties: { size: { type: 'number' } }, required: ['size'] };
      await coffer.bucket('b').collections.patch('todos', { schema });
      const details = [expect.objectContaining({ location: 'body', name: 'size' })];
      const refusal = { kind: 'http', status: 400, errno: 107, details };
      expect(await errorOf(todos.patch('old', { title: 'New' }, { ifMatch: last_modified }))).toMatchObject(refusal);
      const results = await coffer.batch((root) => {
        const list = root.bucket('b').collection<{ title: string; size?: number }>('todos');
        return [list.create({ title: 'Refused' }), list.create({ id: 'fine', title: 'Fine', size: 1 })];
      });
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
      expect(await todos.get('old')).toEqual({ id: 'old', title: 'Old', last_modified });
      expect(await todos.patch('old', { size: 2 }, { ifMatch: last_modified })).toMatchObject({
        title: 'Old',
        size: 2,
      });
    });

    it('says that a quota is exceeded, and accepts records when there is room', async () => {
      await coffer.bucket('b').collections.create({ id: 'full' });
      const full = coffer.bucket('b').collection<{ n: number }>('full');
      for (const id of ['a', 'b']) await full.create({ id, n: 1 });
      expect(await errorOf(full.create({ id: 'c', n: 1 }))).toMatchObject({ kind: 'http', status: 507, errno: 121 });
      await full.patch('a', { n: 2 });
      await full.delete('b');
      await full.create({ id: 'c', n: 1 });
      const { data } = await full.list().all();
      expect(Object.fromEntries(data.map(({ id, n }) => [id, n]))).toEqual({ a: 2, c: 1 });
    });
  });
});
