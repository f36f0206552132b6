// Declared indexes of collections: built in the background, used by queries, unique, and gone with their declaration.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

const collection = '/v1/buckets/b/collections/c';
const records = `${collection}/records`;

interface IndexReport {
  readonly fields: readonly string[];
  readonly state: string;
  readonly [key: string]: unknown;
}

describe('settings of declared indexes', () => {
  it('limit their number and their fields', async () => {
    const service = await startTestService({ settings: { max_indexes: '2', max_index_fields: '5' } });
    try {
      await service.request('PUT', '/v1/buckets/b', { auth: 'alice' });
      const declare = (indexes: unknown): Promise<TestResponse> =>
        service.request('PUT', collection, { auth: 'alice', body: { data: { indexes } } });
      const five = { fields: ['a', 'b', 'c', 'd', 'e'] };
      expect((await declare([five, { text: five.fields }])).status).toBe(201);
      const refused = await declare([{ fields: ['a'] }, { text: [...five.fields, 'f'] }]);
      expect(refused).toMatchObject({
        status: 400,
        body: { details: [{ name: 'data.indexes.1.text', description: expect.stringContaining('max_index_fields') }] },
      });
      expect((await declare([five, { fields: ['f'] }, { fields: ['g'] }])).status).toBe(400);
      const { body } = await service.request('GET', '/v1/');
      expect(body).toMatchObject({ capabilities: { indexes: { max_indexes: 2, max_fields: 5 } } });
    } finally {
      await service.close();
    }
  });
});

forEachBackend((backend) => {
  describe(`declared indexes on ${backend.name}`, () => {
    let service: TestService;
    beforeEach(async () => {
      service = await backend.start();
      await send('PUT', '/v1/buckets/b');
      await send('PUT', collection);
    });
    afterEach(() => service.close());

    const send = (method: string, path: string, data?: unknown, auth = 'alice'): Promise<TestResponse> =>
      service.request(method, path, { auth, ...(data === undefined ? {} : { body: { data } }) });
    const declare = async (...indexes: readonly unknown[]): Promise<void> => {
      expect((await send('PATCH', collection, { indexes })).status).toBe(200);
    };
    const states = async (): Promise<readonly IndexReport[]> =>
      ((await send('GET', `${collection}/indexes`)).body as { data: IndexReport[] }).data;
    const ready = (count: number): Promise<void> =>
      expect
        .poll(async () => (await states()).map(({ state }) => state), { timeout: 30_000 })
        .toEqual(Array.from({ length: count }, () => 'ready'));
    const idsOf = async (query: string): Promise<readonly string[]> => {
      const { status, body } = await send('GET', `${records}?${query}`);
      expect(status).toBe(200);
      return (body as { data: { id: string }[] }).data.map(({ id }) => id);
    };

    it('are ready at once in an empty collection, and find what is written then', async () => {
      await declare({ fields: ['status', '-n'] });
      await ready(1);
      for (const n of [1, 2, 3]) await send('PUT', `${records}/r${n}`, { status: n === 2 ? 'done' : 'open', n });
      expect(await idsOf('status=open&_sort=-n')).toEqual(['r3', 'r1']);
      await send('PATCH', `${records}/r3`, { status: 'done' });
      await send('DELETE', `${records}/r2`);
      expect(await idsOf('status=done&_sort=-n')).toEqual(['r3']);
      expect(await idsOf('status=open')).toEqual(['r1']);
    });

    it('are built for the records that exist, and count them', async () => {
      const requests = Array.from({ length: 25 }, (_, n) => ({
        path: `${records}/r${n}`,
        body: { data: { n: n % 5 } },
      }));
      for (let batch = 0; batch < 12; batch++) {
        const body = {
          defaults: { method: 'PUT' },
          requests: requests.map(({ body: sent }, n) => ({ path: `${records}/r${batch * 25 + n}`, body: sent })),
        };
        expect((await service.request('POST', '/v1/batch', { auth: 'alice', body })).status).toBe(200);
      }
      await declare({ fields: ['n'] });
      await ready(1);
      expect((await states())[0]).toMatchObject({
        fields: ['n'],
        unique: false,
        done: 300,
        total: 300,
        lastUsed: null,
      });
      const head = await send('HEAD', `${records}?n=3`);
      expect(head.headers['total-objects']).toBe('60');
      expect(await idsOf('n=3&_limit=100')).toHaveLength(60);
      const deleted = await send('DELETE', `${records}?lt_n=3`);
      expect((deleted.body as { data: unknown[] }).data).toHaveLength(180);
      expect((await send('HEAD', `${records}?lt_n=3`)).headers['total-objects']).toBe('0');
    });

    it('may have any name of a field that can be filtered by', async () => {
      const names = ['first-name', 'a,b', 'ä b.c', '_x', "it's", 'x.', '$k'];
      await declare(...names.map((name, number) => ({ fields: number % 2 === 0 ? [name] : [`-${name}`] })));
      await ready(names.length);
      const nested: Record<string, unknown> = { 'ä b': { c: 3 }, x: { '': 3 } };
      for (const name of names) if (!name.includes('.')) nested[name] = 3;
      await send('PUT', `${records}/r1`, nested);
      await send('PUT', `${records}/r2`, {});
      for (const name of names.filter((each) => !each.startsWith('$'))) {
        const selector = encodeURIComponent(JSON.stringify({ [name]: 3 }));
        const { headers, body } = await send('GET', `${records}?_filter=${selector}&_explain=true`);
        expect([name, body]).toMatchObject([name, { data: [{ id: 'r1' }] }]);
        expect([name, headers['query-plan']]).toEqual([name, expect.stringMatching(/^index=.*keys=1$/)]);
      }
      expect(await idsOf('first-name=3')).toEqual(['r1']);
      const plan = await send('GET', `${records}?$k=3&_explain=true`);
      expect(plan.headers['query-plan']).toMatch(/^index=%24k; /);
    });

    it('are built although another user declares other indexes of a long list all the time', async () => {
      const [others, long] = ['/v1/buckets/others', '/v1/buckets/others/collections/long'];
      await send('PUT', others, undefined, 'bob');
      await send('PUT', long, undefined, 'bob');
      for (let batch = 0; batch < 40; batch++) {
        const requests = Array.from({ length: 25 }, (_, n) => ({
          method: 'PUT',
          path: `${long}/records/r${batch * 25 + n}`,
        }));
        const { status } = await service.request('POST', '/v1/batch', { auth: 'bob', body: { requests } });
        expect(status).toBe(200);
      }
      await send('PUT', `${records}/r1`, { n: 1 });
      await send('PATCH', long, { indexes: [{ fields: ['x'] }] }, 'bob');
      await declare({ fields: ['n'] });
      let state: string | undefined;
      for (let n = 0; n < 300 && state !== 'ready'; n++) {
        await send('PATCH', long, { indexes: [{ fields: [`x${n % 9}`] }] }, 'bob');
        state = (await states())[0]?.state;
      }
      expect(state).toBe('ready');
    });

    it('are not used before they are complete', async () => {
      await send('PUT', `${records}/r1`, { n: 1 });
      const requests = [
        { method: 'PATCH', path: collection, body: { data: { indexes: [{ fields: ['n'] }] } } },
        { method: 'PUT', path: `${records}/r2`, body: { data: { n: 1 } } },
        { method: 'GET', path: `${records}?n=1&_sort=id` },
        { method: 'HEAD', path: `${records}?n=1` },
      ];
      const { body } = await service.request('POST', '/v1/batch', { auth: 'alice', body: { requests } });
      const { responses } = body as { responses: { body: { data: unknown }; headers: Record<string, string> }[] };
      expect(responses[2]!.body.data).toMatchObject([{ id: 'r1' }, { id: 'r2' }]);
      expect(responses[3]!.headers['Total-Objects']).toBe('2');
      await ready(1);
      expect(await idsOf('n=1&_sort=id')).toEqual(['r1', 'r2']);
    });

    it('refuse a record with the values of another one when they are unique', async () => {
      await declare({ fields: ['email'], unique: true });
      expect((await send('PUT', `${records}/a`, { email: 'x' })).status).toBe(201);
      const refused = await send('POST', records, { email: 'x' });
      expect(refused).toMatchObject({
        status: 409,
        body: { errno: 122, details: { field: 'email', record: { id: 'a' } } },
      });
      expect(Object.keys(refused.headers).map((name) => name.toLowerCase())).not.toContain('retry-after');
      expect((await send('PUT', `${records}/a`, { email: 'x', n: 1 })).status).toBe(200);
      expect((await send('PUT', `${records}/b`, { email: 'y' })).status).toBe(201);
      expect((await send('PATCH', `${records}/b`, { email: 'x' })).status).toBe(409);
      // Records without the field are exempt.
      expect((await send('POST', records, {})).status).toBe(201);
      expect((await send('POST', records, {})).status).toBe(201);
      await send('DELETE', `${records}/a`);
      expect((await send('PATCH', `${records}/b`, { email: 'x' })).status).toBe(200);
    });

    it('admit one of two writers with the same value', async () => {
      await declare({ fields: ['email'], unique: true });
      await ready(1);
      for (let round = 0; round < 5; round++) {
        const all = await Promise.all(
          Array.from({ length: 6 }, () => send('POST', records, { email: `same-${round}` })),
        );
        expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409, 409]);
      }
    });

    it('roll back a batch with a value of another record as a whole', async () => {
      await declare({ fields: ['email'], unique: true });
      await send('PUT', `${records}/a`, { email: 'x', n: 1 });
      const requests = [
        { method: 'POST', path: records, body: { data: { email: 'y' } } },
        { method: 'PATCH', path: `${records}/a`, body: { data: { n: 2 } } },
        { method: 'PUT', path: `${records}/b`, body: { data: { email: 'x' } } },
        { method: 'PUT', path: `${records}/c`, body: { data: { email: 'z' } } },
      ];
      const { status, body } = await service.request('POST', '/v1/batch', { auth: 'alice', body: { requests } });
      expect(status).toBe(200);
      const { responses } = body as { responses: { status: number; headers: object; body: object }[] };
      expect(responses.map((each) => each.status)).toEqual([201, 200, 409, 201]);
      expect(responses[2]!.body).toMatchObject({ details: { field: 'email', record: { id: 'a' } } });
      expect(Object.keys(responses[2]!.headers)).not.toContain('Retry-After');
      expect((await send('GET', records)).body).toMatchObject({ data: [{ id: 'a', n: 1 }] });
    });

    it('report their use to GET, HEAD and DELETE', async () => {
      await declare({ fields: ['n'] }, { fields: ['s'] });
      await ready(2);
      for (const n of [1, 1, 2, 3]) await send('POST', records, { n, s: `s${n}` });
      const planOf = async (method: string, query: string, auth = 'alice'): Promise<string | undefined> =>
        (await send(method, `${records}?${query}`, undefined, auth)).headers['query-plan'];
      expect(await planOf('GET', 'n=1&_explain=true')).toMatch(/^index=n; objects=2; .*keys=2$/);
      expect(await planOf('HEAD', 'n=1&_explain=true')).toMatch(/^index=n; objects=0; /);
      expect(await planOf('HEAD', 'n=1&like_s=1&_explain=true')).toMatch(/^index=n; objects=2; residual=1; .*keys=2$/);
      expect(await planOf('HEAD', 'like_s=1&_explain=true')).toBe('scan; keys=0');
      expect(await planOf('HEAD', 'n=1')).toBeUndefined();
      await service.request('PATCH', collection, {
        auth: 'alice',
        body: { permissions: { read: ['system.Authenticated'] } },
      });
      expect(await planOf('HEAD', 'n=1&_explain=true', 'bob')).toBeUndefined();
      expect(await planOf('DELETE', 'n=1&_explain=maybe')).toBeUndefined();
      expect(await planOf('DELETE', 's=s2&_explain=true')).toMatch(/^index=s; objects=1; .*keys=1$/);
      expect(await planOf('DELETE', 'like_s=s&_explain=true')).toBe('scan; keys=0');
      expect(await idsOf('')).toEqual([]);
    });

    it('are not asked about by an empty condition of DELETE, which is refused', async () => {
      await send('PUT', `${records}/r1`, { n: 1 });
      for (const name of ['_filter', '_q']) {
        const { status, body } = await send('DELETE', `${records}?${name}=`);
        expect([status, body]).toEqual([400, expect.objectContaining({ message: expect.stringContaining(name) })]);
        expect((await send('GET', `${records}?${name}=`)).status).toBe(200);
      }
      expect(await idsOf('')).toEqual(['r1']);
    });

    it('hide the id of a record that the caller may not read', async () => {
      await declare({ fields: ['email'], unique: true });
      await service.request('PATCH', collection, {
        auth: 'alice',
        body: { permissions: { 'record:create': ['system.Authenticated'] } },
      });
      await send('PUT', `${records}/a`, { email: 'x' });
      const refused = await send('POST', records, { email: 'x' }, 'bob');
      expect(refused).toMatchObject({ status: 409, body: { details: { field: 'email' } } });
      expect(refused.text).not.toContain('"a"');
    });

    it('fail, and say why, when they are unique and records have the same values', async () => {
      await send('PUT', `${records}/a`, { email: 'x' });
      await send('PUT', `${records}/b`, { email: 'x' });
      await declare({ fields: ['email'], unique: true });
      await expect.poll(async () => (await states())[0]?.state).toBe('failed');
      const [state] = await states();
      expect((state!['duplicates'] as string[]).toSorted()).toEqual(['a', 'b']);
      expect(await idsOf('email=x&_sort=last_modified')).toEqual(['a', 'b']);
      // Their other attributes may be changed, and new records may not share the value.
      expect((await send('PATCH', `${records}/a`, { n: 1 })).status).toBe(200);
      expect((await send('PUT', `${records}/b`, { email: 'x', n: 2 })).status).toBe(200);
      expect((await send('PUT', `${records}/c`, { email: 'x' })).status).toBe(409);
      expect((await send('PUT', `${records}/c`, { email: 'y' })).status).toBe(201);
      expect((await send('PATCH', `${records}/c`, { email: 'x' })).status).toBe(409);
    });

    it('are complete when they are unique and records have different values', async () => {
      await send('PUT', `${records}/a`, { email: 'x' });
      await send('PUT', `${records}/b`, { email: 'y' });
      await declare({ fields: ['email'], unique: true });
      await ready(1);
      expect((await send('POST', records, { email: 'y' })).status).toBe(409);
    });

    it('find records by values that are longer than a key', async () => {
      await declare({ fields: ['n'] });
      await ready(1);
      const long = 'x'.repeat(1500);
      for (const end of ['1', '2']) await send('PUT', `${records}/r${end}`, { n: long + end });
      expect(await idsOf(`n=${long}2`)).toEqual(['r2']);
      expect(await idsOf(`n=${long}3`)).toEqual([]);
    });

    it('are used as they are declared at the moment of the query, also when they change between queries', async () => {
      const numbers = Array.from({ length: 6 }, (_, n) => n);
      for (const n of numbers) await send('PUT', `${records}/r${n}`, { a: n, b: -n, c: n % 3 });
      const upwards = numbers.map((n) => `r${n}`);
      for (const [round, field] of ['a', 'b', 'c', 'b', 'a'].entries()) {
        await declare({ fields: [field] });
        // At once, while the new index is built, and when it was complete a moment ago.
        for (let n = 0; n < 3; n++) {
          expect(await idsOf('_sort=a')).toEqual(upwards);
          expect(await idsOf('_sort=b')).toEqual(upwards.toReversed());
          expect(await idsOf('c=1&_sort=a')).toEqual(['r1', 'r4']);
          expect((await service.request('GET', `${records}?_sort=${field}`, { auth: 'bob' })).status).toBe(403);
          await ready(1);
        }
        const added = `x${round}`;
        await send('PUT', `${records}/${added}`, { a: 100, b: -100, c: 5 });
        expect(await idsOf('_sort=-a&_limit=1')).toEqual([added]);
        await send('DELETE', `${records}/${added}`);
      }
      expect((await send('DELETE', collection)).status).toBe(200);
      expect((await send('GET', `${records}?_sort=a`)).status).toBe(404);
      await send('PUT', collection);
      expect(await idsOf('_sort=a')).toEqual([]);
    });

    it('forget what was stored while they were not declared', async () => {
      await declare({ fields: ['n'] });
      await ready(1);
      await send('PUT', `${records}/a`, { n: 1 });
      await declare();
      await send('PUT', `${records}/a`, { n: 2 });
      await send('PUT', `${records}/b`, { n: 1 });
      await declare({ fields: ['n'] });
      expect(await idsOf('n=1')).toEqual(['b']);
      await ready(1);
      expect(await idsOf('n=1')).toEqual(['b']);
      expect(await idsOf('n=2')).toEqual(['a']);
    });

    it('are deleted with their collection', async () => {
      await declare({ fields: ['n'] });
      await send('PUT', `${records}/a`, { n: 1 });
      await send('DELETE', collection);
      expect((await send('GET', `${collection}/indexes`)).status).toBe(404);
      await send('PUT', collection);
      expect(await states()).toEqual([]);
      await declare({ fields: ['n'] });
      await ready(1);
      expect(await idsOf('n=1')).toEqual([]);
    });

    it('are refused when they are malformed, with the place of the fault', async () => {
      const refusals: readonly (readonly [unknown, string])[] = [
        ['n', 'data.indexes'],
        [[{}], 'data.indexes.0.fields'],
        [[{ fields: ['a', 'b', 'c', 'd', 'e'] }], 'data.indexes.0.fields'],
        [[{ fields: ['n'] }, { fields: ['n', 'n'] }], 'data.indexes.1.fields.1'],
        [[{ fields: ['-'] }], 'data.indexes.0.fields.0'],
        [[{ fields: [''] }], 'data.indexes.0.fields.0'],
        [[{ fields: ['last_modified'] }], 'data.indexes.0.fields.0'],
        [[{ fields: ['n'], unique: 'yes' }], 'data.indexes.0.unique'],
        [[{ fields: ['n'], kind: 'hash' }], 'data.indexes.0.kind'],
        [[{ fields: ['n'] }, { fields: ['n'] }], 'data.indexes.1'],
        [Array.from({ length: 9 }, (_, n) => ({ fields: [`f${n}`] })), 'data.indexes'],
      ];
      for (const [indexes, name] of refusals) {
        const { status, body } = await send('PATCH', collection, { indexes });
        expect({ indexes, status }).toEqual({ indexes, status: 400 });
        expect(body).toMatchObject({ errno: 107, details: [{ location: 'body', name }] });
      }
      expect(await states()).toEqual([]);
    });

    it('are reported to callers who may read the records only', async () => {
      await declare({ fields: ['n'] });
      expect((await send('GET', `${collection}/indexes`, undefined, 'bob')).status).toBe(403);
      expect((await service.request('GET', `${collection}/indexes`)).status).toBe(401);
    });
  });
});
