// Bodies with very many values: refused beyond the limit wherever they come from, and worked on in steps below it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestClient, TestRequest, TestResponse } from '../../src/testing/service/service-client.ts';
import { backends, startWatched, type WatchedService } from './service.ts';

const list = '/v1/buckets/b/collections/c/records';
const merge = 'application/merge-patch+json';
const patch = 'application/json-patch+json';

/** So many members, `{"k0":0,…}`. */
function members(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":${index}`).join()}}`;
}

describe.each(backends)('values of JSON on $name', (backend) => {
  const maxValues = 1000;
  let watched: WatchedService;
  let alice: TestClient;
  const send = (method: string, path: string, raw: string, type = 'application/json'): Promise<TestResponse> =>
    alice.request(method, path, { raw, headers: { 'Content-Type': type } });

  beforeAll(async () => {
    watched = await startWatched(backend, { max_json_values: String(maxValues) });
    alice = watched.service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
  });
  afterAll(async () => {
    await watched.service.close();
    expect(watched.errors).toEqual([]);
  });

  // The document and `data` count, too.
  const most = members(maxValues - 2);
  const tooMany = members(maxValues - 1);

  it('accepts as many values as allowed', async () => {
    expect((await send('PUT', `${list}/most`, `{"data":${most}}`)).status).toBe(201);
    const { body } = await alice.request('GET', `${list}/most`);
    expect(Object.keys((body as { data: object }).data)).toHaveLength(maxValues);
  });

  it.each([
    ['PUT', `${list}/x`, `{"data":${tooMany}}`],
    ['POST', list, `{"data":${tooMany}}`],
    ['PUT', `${list}/x`, `{"data":{"a":[${tooMany}]}}`],
    ['PUT', `${list}/x`, `{"data":{"a":[${'[],'.repeat(maxValues)}[]]}}`],
    ['PUT', `${list}/x`, `{"permissions":{"read":[${'"u",'.repeat(maxValues)}"u"]}}`],
    ['PUT', '/v1/buckets/b/groups/g', `{"data":{"members":[${'"u",'.repeat(maxValues)}"u"]}}`],
    ['PATCH', `${list}/most`, `{"data":${tooMany}}`],
    ['PATCH', `${list}/most`, `{"data":${tooMany}}`, merge],
    ['PATCH', `${list}/most`, `[${'{"op":"test","path":"/data/k1","value":1},'.repeat(250)}1]`, patch],
    ['POST', '/v1/batch', `{"requests":[{"method":"PUT","path":"${list}/x","body":{"data":${tooMany}}}]}`],
    ['POST', '/v1/batch', `{"defaults":{"body":{"data":${tooMany}}},"requests":[]}`],
  ])('refuses more in %s %s %#', async (method, path, raw, type = 'application/json') => {
    const { status, body, text } = await send(method, path, raw, type);
    expect(status).toBe(400);
    expect((body as { errno: number }).errno).toBe(107);
    expect(text).toContain(`more than ${maxValues} JSON values (max_json_values)`);
    expect((await alice.request('GET', `${list}/x`)).status).toBe(404);
  });

  it('refuses patches that make an object with more values than a body may have', async () => {
    const half = members(600);
    expect((await send('PUT', `${list}/grow`, `{"data":{"a":${half}}}`)).status).toBe(201);
    const copy = '[{"op":"copy","from":"/data/a","path":"/data/b"}]';
    for (const [raw, type] of [
      [copy, patch],
      [`{"data":{"b":${half}}}`, 'application/json'],
      [`{"data":{"b":${half}}}`, merge],
    ] as const) {
      const { status, text } = await send('PATCH', `${list}/grow`, raw, type);
      expect(status).toBe(400);
      expect(text).toContain('max_json_values');
      const batch = JSON.stringify({
        requests: [{ method: 'PATCH', path: `${list}/grow`, headers: { 'Content-Type': type }, body: JSON.parse(raw) }],
      });
      const { body } = await send('POST', '/v1/batch', batch);
      expect((body as { responses: { status: number }[] }).responses[0]?.status).toBe(400);
    }
    const { body } = await alice.request('GET', `${list}/grow`);
    expect(Object.keys((body as { data: object }).data).toSorted()).toEqual(['a', 'id', 'last_modified']);
  });
});

describe.each(backends)('large bodies on $name', { timeout: 60_000 }, (backend) => {
  const large = `{"data":${members(20_000)}}`;
  let watched: WatchedService;
  let alice: TestClient;

  beforeAll(async () => {
    watched = await startWatched(backend);
    alice = watched.service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
    const schema = { additionalProperties: { type: ['integer', 'string'] } };
    await alice.request('PUT', '/v1/buckets/b/collections/s', { body: { data: { schema } } });
  });
  afterAll(async () => {
    await watched.service.close();
    expect(watched.errors).toEqual([]);
  });

  /** Sends a request and counts how often the event loop turns before the answer. */
  async function countTurns(method: string, path: string, options: TestRequest): Promise<number> {
    let turns = 0;
    let isAnswered = false;
    const turn = (): void => {
      turns++;
      if (!isAnswered) setImmediate(turn);
    };
    setImmediate(turn);
    const { status, text } = await alice.request(method, path, options);
    isAnswered = true;
    expect(status, text.slice(0, 300)).toBeLessThan(300);
    return turns;
  }

  const body = (raw: string, type = 'application/json', more: Record<string, string> = {}): TestRequest => ({
    raw,
    headers: { 'Content-Type': type, ...more },
  });

  // Fewer turns than this would take steps of many milliseconds.
  it('lets others be served many times while one is handled', async () => {
    expect(await countTurns('PUT', `${list}/large`, body(large))).toBeGreaterThan(20);
    expect(await countTurns('GET', `${list}/large?_fields=k1`, {})).toBeGreaterThan(6);
    expect(await countTurns('PATCH', `${list}/large`, body('{"data":{"z":1}}'))).toBeGreaterThan(20);
    expect(await countTurns('PATCH', `${list}/large`, body(large, merge))).toBeGreaterThan(30);
    const diff = body('{"data":{"z":2}}', 'application/json', { 'Response-Behavior': 'diff' });
    expect(await countTurns('PATCH', `${list}/large`, diff)).toBeGreaterThan(20);
    const operations = '[{"op":"test","path":"/data/k7","value":7},{"op":"remove","path":"/data/z"}]';
    expect(await countTurns('PATCH', `${list}/large`, body(operations, patch))).toBeGreaterThan(20);
    expect(await countTurns('PUT', `${list}/large`, body('{"permissions":{"read":["a:b"]}}'))).toBeGreaterThan(10);
    expect(await countTurns('PUT', list.replace('/c/', '/s/') + '/large', body(large))).toBeGreaterThan(30);
    const { text } = await alice.request('GET', `${list}/large`);
    expect(text).toContain(large.slice('{"data":{'.length, -2));
  });

  it('keeps all changes of patches to one large object that come together', async () => {
    await alice.request('PUT', `${list}/shared`, body(large));
    const names = ['p', 'q', 'r', 's', 't'];
    const answers = await Promise.all(
      names.map((name) => alice.request('PATCH', `${list}/shared`, body(`{"data":{"${name}":1}}`))),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    const { body: read } = await alice.request('GET', `${list}/shared?_fields=${names.join()}`);
    expect(Object.keys((read as { data: object }).data).toSorted()).toEqual(['id', 'last_modified', ...names]);
  });

  it('refuses text that cannot be stored and names its place, however large the body', async () => {
    const { status, text } = await alice.request(
      'PUT',
      `${list}/bad`,
      body(large.replace('"k7":7', '"k7":["\\u0000"]')),
    );
    expect(status).toBe(400);
    expect(text).toContain('data.k7.0');
  });
});
