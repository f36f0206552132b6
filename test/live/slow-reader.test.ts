// Clients that do not read: they receive everything later, and neither delay others nor take more than a bounded buffer.
import { afterEach, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { ListCopy } from './list-copy.ts';
import { records, Stage } from './stage.ts';
import { testBackends } from '../../src/testing/index.ts';

forEachBackend((backend) => {
  describe(`slow readers on ${backend.name}`, () => {
    let stage: Stage;
    afterEach(() => stage.close());

    it('receive the latest state of everything once, and do not delay others', async () => {
      stage = await Stage.start(backend, { settings: { live_buffer_bytes: '4096' } });
      const slow = await stage.follow('_since=0');
      const quick = await stage.follow('_since=0');
      await Promise.all([slow.until('current'), quick.until('current')]);
      slow.pause();
      const text = 'x'.repeat(20_000);
      // More than the buffers of the kernel hold.
      let last = 0;
      for (let round = 0; round < 20; round++) {
        const requests = Array.from({ length: 20 }, (_, n) => ({
          method: 'PUT',
          path: `${records.slice(3)}/r${n}`,
          body: { data: { round, text } },
        }));
        const { body } = await stage.write('POST', '/v1/batch', { requests });
        last = (body as { responses: { body: { data: { last_modified: number } } }[] }).responses.at(-1)!.body.data
          .last_modified;
        let seen = 0;
        while (seen < last) seen = Math.max(seen, Number((await quick.next()).id));
      }
      await stage.remove('r0');
      slow.resume();
      const copy = new ListCopy();
      let previous = 0;
      let seen = 0;
      while (seen <= last) {
        const event = await slow.next();
        if (event.event === 'changes') {
          for (const { last_modified: timestamp } of event.data.data as { last_modified: number }[]) {
            expect(timestamp).toBeGreaterThan(previous);
            previous = timestamp;
          }
        }
        await copy.apply(event);
        seen = Math.max(seen, Number(event.id));
      }
      const { body } = await stage.write('GET', `${records}?_sort=id`);
      const { data } = body as { data: { id: string }[] };
      expect(copy.objects).toEqual(data.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    });
  });
});

describe('the memory for followers', () => {
  it('is shared with all requests: a caller who holds its part waits, and others are served', async () => {
    const settings = { memory_budget_bytes: '40000000', live_buffer_bytes: '20000000' };
    const stage = await Stage.start(testBackends[0]!, { settings });
    try {
      // More than the buffers of the kernel hold, in one frame.
      for (let n = 0; n < 9; n++) await stage.put(`long${n}`, { text: 'x'.repeat(1_000_000) });
      const silent = await stage.follow('_since=0&not_n=1');
      silent.pause();
      const second = await stage.follow('_since=0&not_n=2');
      // Pages are read in the order in which the streams have asked for them.
      await (await stage.follow('_since=0', { auth: 'bob' })).until('current');
      expect(second.waiting).toBe(0);
      silent.close();
      expect((await second.until('changes')).data.data).toHaveLength(9);
    } finally {
      await stage.close();
    }
  });
});
