// Requests that wait for memory: their work is undone, and they run again as a whole.
import { expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';

it.each(['snapshot/collections/c@9007199254740991', 'collections/c/changeset?_expected=0'])(
  'gives back what it has reserved before it waits for more, in GET …/%s',
  async (path) => {
    // Each response needs most of the share of its user.
    const settings = { memory_budget_bytes: '40000000', memory_wait_seconds: '30', max_page_bytes: '200000' };
    const service = await startTestService({ settings: { ...settings, includes: 'changes history' } });
    onTestFinished(() => service.close());
    const ann = service.asUser('ann');
    await ann.request('PUT', '/v1/buckets/b');
    await ann.request('PUT', '/v1/buckets/b/collections/c');
    const ids = Array.from({ length: 25 }, (_, n) => `r${n}`);
    const requests = ids.map((id) => {
      return {
        method: 'PUT',
        path: `/buckets/b/collections/c/records/${id}`,
        body: { data: { text: 'x'.repeat(60_000) } },
      };
    });
    expect((await ann.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
    const all = await Promise.all(ids.slice(0, 8).map(() => ann.request('GET', `/v1/buckets/b/${path}`)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(all.map(({ text }) => text.length)).size).toBe(1);
  },
);
