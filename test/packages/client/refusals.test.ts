// What the client reports when a service refuses writes that it accepted before.
import { getEventListeners } from 'node:events';
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

describe('A call with arguments that cannot be sent', () => {
  const requests: string[] = [];
  const answer: typeof fetch = async (input) => {
    requests.push(input instanceof Request ? input.url : input.toString());
    return Response.json({ data: [] }, { status: 401 });
  };
  const coffer = new Coffer('http://coffer.test', { fetch: answer, timeoutMs: 20, maxPauseMs: 1 });

  it.each([
    ['an undefined member, which would match everything', { owner: undefined }],
    ['a number that JSON does not have, which would match null', { any: [{ n: [1, Number.NaN] }] }],
  ])('fails where a filter has %s', async (_, given) => {
    const filter = given as never;
    const list = coffer.list('/things');
    const calls = [
      () => list.deleteAll({ filter }),
      () => list.list({ filter }).all(),
      () => list.list({ filter }).count(),
      () => list.list({ filter }).pageIfChanged(1),
    ];
    for (const call of calls) expect(await errorOf(call())).toMatchObject({ kind: 'validation' });
    await expect(list.live({ filter })[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'validation' });
    expect(requests).toEqual([]);
  });

  it('fails at once for values that JSON does not have', async () => {
    await expect(coffer.list('/things').put('a', { n: 1n })).rejects.toBeInstanceOf(TypeError);
    expect(requests).toEqual([]);
  });

  it('rejects a promise, and throws nothing, for ids that are none', async () => {
    const list = coffer.list('/things');
    const calls = [
      () => list.get(''),
      () => list.put('..', {}),
      () => list.create({ id: '.' }),
      () => list.patch('', {}),
      () => list.delete(''),
      () => list.entry(''),
      () => list.permissions('').set({}),
    ];
    for (const call of calls) expect(await errorOf(call())).toMatchObject({ kind: 'validation' });
  });

  it('leaves no listener behind when no new credentials are found', async () => {
    const { signal } = new AbortController();
    const auth = (refused?: string): string => {
      if (refused === undefined) return 'Bearer old';
      throw new Error('no login');
    };
    const lost = new Coffer('http://coffer.test', { fetch: answer, timeoutMs: 20, auth });
    await expect(lost.list('/things').get('a', { signal })).rejects.toThrow('no login');
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0);
  });
});
