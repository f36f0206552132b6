// Objects of the highest depth that settings allow can be queried and changed on every backend.
import { expect, it } from 'vitest';
import { maxStoredDepth } from '../../src/base/json.ts';
import { forEachBackend } from '../support/backends.ts';

/** An array of so many levels. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

forEachBackend(({ name, start }) => {
  it(`objects of the highest depth can be queried and changed on ${name}`, async () => {
    const settings = { max_json_depth: String(maxStoredDepth), includes: 'history' };
    const service = await start({ settings });
    const alice = service.asUser('alice');
    const records = '/v1/buckets/b/collections/c/records';
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
    const put = (levels: number): ReturnType<typeof alice.request> =>
      alice.request('PUT', `${records}/deep`, {
        headers: { 'Content-Type': 'application/json' },
        raw: `{"data":{"a":${nested(levels)},"n":1}}`,
      });
    // The body and its data are two levels.
    expect((await put(maxStoredDepth - 1)).status).toBe(400);
    expect((await put(maxStoredDepth - 2)).status).toBe(201);
    await alice.request('PUT', `${records}/flat`, { body: { data: { a: 1, n: 2 } } });
    const queries = ['?_sort=a', '?_sort=-a', '?a=1', '?not_a=1', '?has_a=true', '?_sort=n', '?gt_a=1&_sort=a'];
    const paths = [...queries, '?_fields=a', '/deep', '/deep?_fields=a'].map((query) => records + query);
    for (const path of [
      ...paths,
      '/v1/buckets/b/history?target.data.n=1',
      '/v1/buckets/b/history?_sort=target.data.a',
    ]) {
      const { status, text } = await alice.request('GET', path);
      expect([path, status, status === 200 ? '' : text.slice(0, 200)]).toEqual([path, 200, '']);
    }
    const patched = await alice.request('PATCH', `${records}/deep`, { body: { data: { b: 2 } } });
    expect(patched.status).toBe(200);
    const removed = await alice.request('DELETE', `${records}?gt_a=1&_sort=a`);
    expect([removed.status, (removed.body as { data: { id: string }[] }).data.map(({ id }) => id)]).toEqual([
      200,
      ['deep'],
    ]);
    await service.close();
  });
});
