// Streams and polls of selectors and text searches, with declared indexes: what leaves them is marked as gone.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { ListCopy } from './list-copy.ts';
import { records, Stage } from './stage.ts';

const selector = (value: object): string => `_filter=${encodeURIComponent(JSON.stringify(value))}`;
const openOrLarge = selector({ $or: [{ status: 'open' }, { n: { $gt: 5 } }] });
const nested = selector({ $nor: [{ status: { $in: ['closed'] } }], n: { $type: 'number' } });

forEachBackend((backend) => {
  const hasSearch = backend.name !== 'redis';
  describe(`queries of streams on ${backend.name}`, () => {
    let stage: Stage;
    beforeEach(async () => {
      stage = await Stage.start(backend);
      const indexes = [{ fields: ['status', 'n'] }, ...(hasSearch ? [{ text: ['title'] }] : [])];
      await stage.write('PATCH', '/v1/buckets/b/collections/c', { data: { indexes } });
    });
    afterEach(() => stage.close());

    it('send what matches a selector, and mark what does not match any more', async () => {
      const stream = await stage.follow(openOrLarge);
      await stream.until('current');
      const opened = await stage.put('x', { status: 'open', n: 1 });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: opened, status: 'open', n: 1 }] });
      await stream.until('current');
      // The other alternative matches now.
      const large = await stage.put('x', { status: 'closed', n: 6 });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: large, status: 'closed', n: 6 }] });
      await stream.until('current');
      const closed = await stage.put('x', { status: 'closed', n: 5 });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: closed, gone: true }] });
    });

    it.runIf(hasSearch)('send what a text search finds, and mark what it does not find any more', async () => {
      const stream = await stage.follow('_q=tea%20-green');
      await stream.until('current');
      const black = await stage.put('x', { title: 'Black Téa' });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: black, title: 'Black Téa' }] });
      await stream.until('current');
      const green = await stage.put('x', { title: 'green tea' });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: green, gone: true }] });
    });

    it.each([
      openOrLarge,
      nested,
      `${openOrLarge}&min_n=2`,
      ...(hasSearch ? ['_q=tea', `_q=%22green%20tea%22&${openOrLarge}`] : []),
    ])('keep a copy equal to the list: %s', async (query) => {
      await stage.put('x', { status: 'open', n: 1, title: 'green tea' });
      await stage.put('y', { status: 'closed', n: 9, title: 'black tea' });
      const stream = await stage.follow(`_since=0&${query}`);
      const copy = new ListCopy();
      await copy.catchUp(stream);
      await stage.put('x', { status: 'closed', n: 2, title: 'tea' });
      await stage.put('z', { status: 'open', n: 2, title: 'very green tea' });
      await stage.put('y', { status: 'closed', n: 3, title: 'coffee' });
      await stage.put('v', { n: '7', title: 'green tea' });
      await stage.remove('v');
      const last = await stage.put('w', { status: 'open', n: 9, title: 'green tea' });
      while ((await copy.catchUp(stream)) < last);
      const { body } = await stage.write('GET', `${records}?_sort=id&${query}`);
      expect((body as { data: unknown[] }).data.length).toBeGreaterThan(0);
      expect(copy.objects).toEqual((body as { data: unknown[] }).data);
    });

    it('mark what is gone for pollers that ask for it', async () => {
      const poll = async (query: string, since: number): Promise<unknown> => {
        const path = `${records}?_live=poll&_wait=60&_gone=true&_since=${since}&${query}`;
        return ((await stage.write('GET', path)).body as { data: unknown }).data;
      };
      const before = await stage.put('x', { status: 'open', n: 1, title: 'tea' });
      const waiting = [poll(openOrLarge, before), ...(hasSearch ? [poll('_q=tea', before)] : [])];
      const closed = await stage.put('x', { status: 'closed', n: 1, title: 'coffee' });
      const gone = [{ id: 'x', last_modified: closed, gone: true }];
      expect(await Promise.all(waiting)).toEqual(hasSearch ? [gone, gone] : [gone]);
    });

    it.runIf(!hasSearch)('refuse a text search', async () => {
      const { status, error } = await stage.follow('_q=tea');
      expect({ status, error }).toMatchObject({ status: 400, error: { errno: 107 } });
    });

    it('refuse a malformed selector', async () => {
      const { status, error } = await stage.follow(selector({ n: { $gtt: 1 } }));
      expect({ status, error }).toMatchObject({ status: 400, error: { errno: 107 } });
    });
  });
});
