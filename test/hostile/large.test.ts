// Requests that are large in one respect: long texts, many members, many faults, much to answer. Each is refused or
// served, in bounded time and with an answer of bounded size.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { runAtOnce } from '../../src/base/steps.ts';
import { checkSchema as checkInSteps } from '../../src/core/schema/check-schema.ts';
import { validateAgainst, type SchemaFailure } from '../../src/core/schema/validate.ts';
import type { TestClient, TestRequest, TestResponse } from '../../src/testing/service/service-client.ts';
import { inExtent } from '../support/extent.ts';
import { backends, startWatched, type WatchedService } from './service.ts';

const list = '/v1/buckets/b/collections/c/records';
const json = { 'Content-Type': 'application/json' };

/** Limits are those of HTTP and of the engine. The backends differ in how they send long texts to a server, or keep them. */
const chosen = inExtent(
  backends.filter(({ name }) => name === 'sqlite' || name === 'postgresql'),
  backends,
);

describe.each(chosen)('large requests on $name', (backend) => {
  let watched: WatchedService;
  let alice: TestClient;
  const send = (
    method: string,
    path: string,
    raw: string,
    headers: TestRequest['headers'] = json,
  ): Promise<TestResponse> => alice.request(method, path, { raw, headers });

  beforeAll(async () => {
    watched = await startWatched(backend, { max_page_bytes: '1000000' });
    alice = watched.service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
  });
  afterAll(async () => {
    await watched.service.close();
    expect(watched.errors).toEqual([]);
  });

  it('A text of millions of characters next to an exact number is returned as it was sent.', async () => {
    for (const text of ['x'.repeat(9_000_000), '\\n'.repeat(4_000_000), '\\\\\\"'.repeat(2_000_000)]) {
      const stored = await send('PUT', `${list}/long`, `{"data":{"a":"${text}","n":1.50}}`);
      expect(stored.status).toBeLessThan(300);
      const read = await alice.request('GET', `${list}/long`);
      expect(read.text.includes(`"a":"${text}","n":1.50`)).toBe(true);
    }
    await alice.request('DELETE', `${list}/long`);
  });

  it('reports a hundred of very many faults', async () => {
    const wrong = `${'0,'.repeat(90_000)}0`;
    for (const [path, body] of [
      [`${list}/x`, `{"permissions":{"read":[${wrong}]}}`],
      ['/v1/buckets/b/groups/g', `{"data":{"members":[${wrong}]}}`],
    ] as const) {
      const { status, body: answer } = await send('PUT', path, body);
      expect(status).toBe(400);
      expect((answer as { details: unknown[] }).details).toHaveLength(100);
    }
    const keys = Array.from({ length: 90_000 }, (_, index) => `"u${index}":1`);
    const batch = await send('POST', '/v1/batch', `{${keys.join()}}`);
    expect(batch.status).toBe(400);
    expect(batch.text.length).toBeLessThan(1000);
  });

  it('Bodies nested beyond the limit are refused, however deep.', async () => {
    for (const depth of [501, 100_000, 1_000_000]) {
      const { status } = await send('PUT', `${list}/deep`, `{"data":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`);
      expect(status).toBe(400);
    }
    const { status } = await send('PUT', `${list}/deep`, `{"data":{"a":${'['.repeat(498)}${']'.repeat(498)}}}`);
    expect(status).toBe(201);
    const nested = '{"a":'.repeat(497) + '1' + '}'.repeat(497);
    const merged = await send('PATCH', `${list}/deep`, `{"data":${nested}}`, {
      'Content-Type': 'application/merge-patch+json',
    });
    expect(merged.status).toBe(200);
    expect((await alice.request('GET', `${list}?a.a.a=1&_sort=a.a.a&_fields=a.a`)).status).toBe(200);
  });

  it('Patches cannot make an object longer than a body may be.', async () => {
    const half = 'x'.repeat(6_000_000);
    expect((await send('PUT', `${list}/grow`, `{"data":{"a":"${half}"}}`)).status).toBe(201);
    const grown = await send('PATCH', `${list}/grow`, `{"data":{"b":"${half}"}}`);
    expect([grown.status, (grown.body as { errno: number }).errno]).toEqual([413, 113]);
    const copies = [1, 2].map((to) => ({ op: 'copy', from: '/data/a', path: `/data/c${to}` }));
    const copied = await send('PATCH', `${list}/grow`, JSON.stringify(copies), {
      'Content-Type': 'application/json-patch+json',
    });
    expect(copied.status).toBe(400);
    const read = await alice.request('GET', `${list}/grow`);
    expect(Object.keys((read.body as { data: object }).data).toSorted()).toEqual(['a', 'id', 'last_modified']);
    await alice.request('DELETE', `${list}/grow`);
  });

  it('A batch whose answers are too large together is undone as a whole.', async () => {
    await send('PUT', `${list}/big`, `{"data":{"a":"${'x'.repeat(9_500_000)}"}}`);
    const reads = Array.from({ length: 24 }, () => ({ path: `${list}/big` }));
    const { status } = await alice.request('POST', '/v1/batch', {
      body: { requests: [{ method: 'PUT', path: `${list}/with-them` }, ...reads] },
    });
    expect(status).toBe(413);
    expect((await alice.request('GET', `${list}/with-them`)).status).toBe(404);
  });

  it('A page of long records ends early and is continued.', async () => {
    await alice.request('DELETE', list);
    for (let i = 0; i < 11; i++)
      await send('PUT', `${list}/page-${i}`, `{"data":{"t":1,"a":"${'x'.repeat(400_000)}"}}`);
    for (const query of ['', '?t=1', '?_sort=t', '?_sort=id&_limit=1000', '?_fields=t']) {
      const ids: string[] = [];
      let path: string | undefined = list + query;
      let pages = 0;
      while (path !== undefined) {
        const { body, headers } = await alice.request('GET', path);
        ids.push(...(body as { data: { id: string }[] }).data.map(({ id }) => id));
        path = headers['next-page']?.slice(watched.service.origin.length);
        pages++;
      }
      expect([query, pages]).toEqual([query, 6]);
      expect(new Set(ids).size).toBe(11);
      expect(ids).toHaveLength(11);
    }
    expect((await alice.request('DELETE', list)).headers['next-page']).toBeUndefined();
    expect((await alice.request('GET', list)).body).toEqual({ data: [] });
  });

  it('A batch counts its defaults in every entry, and is refused before any of it is done when it is too large.', async () => {
    const requests = Array.from({ length: 25 }, (_, n) => ({ path: `${list}/b${n}` }));
    const batch = (chars: number): string =>
      JSON.stringify({ defaults: { method: 'PUT', body: { data: { a: 'x'.repeat(chars) } } }, requests });
    const refused = await send('POST', '/v1/batch', batch(1_100_000));
    expect([refused.status, (refused.body as { errno: number }).errno]).toEqual([413, 113]);
    expect((refused.body as { message: string }).message).toContain('26214400 bytes');
    expect((await alice.request('GET', list)).body).toEqual({ data: [] });
    expect((await send('POST', '/v1/batch', batch(100_000))).status).toBe(200);
    await alice.request('DELETE', list);
  });

  it('Long lists in the query string are served or refused.', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => index);
    const paths = [`${list}?in_n=${many.join()}`, `${list}?${many.map((n) => `n=${n}`).join('&')}`];
    paths.push(
      `${list}?${many
        .slice(0, 101)
        .map((n) => `a=${n}`)
        .join('&')}`,
    );
    paths.push(
      `${list}?like_a=${'*a'.repeat(5000)}b`,
      `${list}?_sort=${many.slice(0, 2000).join()}`,
      `${list}?_token=${'a'.repeat(9000)}`,
    );
    for (const path of paths) expect([200, 400, 414, 431]).toContain((await alice.request('GET', path)).status);
  });
});

describe('schemas against large values', () => {
  const object = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 1]));
  const validate = (schema: JsonObject): SchemaFailure | undefined =>
    runAtOnce(validateAgainst({ properties: { a: schema } }, { a: object }, { internalFields: [] }));
  const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 2000 }, (_, index) => make(index));

  it.each([
    { allOf: many((index) => ({ minProperties: index })) },
    { enum: many((index) => ({ [`z${index}`]: 1 })) },
    { allOf: many((index) => ({ not: { const: { [`z${index}`]: 1 } } })) },
  ] satisfies JsonObject[])('charges keywords that look at an object as a whole for its members', (schema) => {
    expect(validate(schema)).toEqual({ name: 'schema', description: 'validation takes too much work' });
    // A few of them are allowed: what is refused is the number.
    const [keyword, values] = Object.entries(schema)[0]!;
    expect(validate({ [keyword]: values.slice(1, 10) })?.description).not.toBe('validation takes too much work');
  });

  it('refuses patterns that pile up classes of thousands of characters', () => {
    const checkSchema = (schema: JsonObject): string | undefined => runAtOnce(checkInSteps(schema));
    expect(checkSchema({ pattern: `[${'\\p{L}'.repeat(390)}]` })).toContain('complex');
    const patterns = Array.from({ length: 100 }, (_, index) => ({ pattern: `${'\\p{L}'.repeat(20)}${index}` }));
    expect(checkSchema({ allOf: patterns })).toContain('complex');
    expect(checkSchema({ pattern: '^[\\p{L}\\p{N} ]+$' })).toBeUndefined();
  });
});
