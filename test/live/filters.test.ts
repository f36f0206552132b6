// Streams and polls of a part of a list: what leaves the filter is marked as gone.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { ListCopy } from './list-copy.ts';
import { records, Stage } from './stage.ts';

forEachBackend((backend) => {
  describe(`filters of streams on ${backend.name}`, () => {
    let stage: Stage;
    beforeEach(async () => {
      stage = await Stage.start(backend);
    });
    afterEach(() => stage.close());

    it('send what matches, and mark what does not match any more', async () => {
      const stream = await stage.follow('status=open');
      await stream.until('current');
      const opened = await stage.put('x', { status: 'open' });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: opened, status: 'open' }] });
      await stream.until('current');
      const closed = await stage.put('x', { status: 'closed' });
      expect((await stream.next()).data).toEqual({ data: [{ id: 'x', last_modified: closed, gone: true }] });
      await stream.until('current');
      const deleted = await stage.remove('x');
      const { data } = await stream.next();
      expect(data.data).toHaveLength(1);
      expect(data.data[0]).toMatchObject({ id: 'x', last_modified: deleted });
    });

    it.each([
      '_since=0',
      '_since=0&_fields=status',
      '_since=0&min_n=2',
      '_since=0&in_n=1,2',
      '_since=0&like_status=op',
      '_since=0&exclude_id=x',
    ])('keep a copy equal to the list: %s', async (query) => {
      await stage.put('x', { status: 'open', n: 1 });
      await stage.put('y', { status: 'closed', n: 2 });
      const stream = await stage.follow(query);
      const copy = new ListCopy();
      await copy.catchUp(stream);
      await stage.put('x', { status: 'closed', n: 3 });
      await stage.put('z', { status: 'open', n: 2 });
      await stage.remove('y');
      const last = await stage.put('w', { status: 'reopened', n: 9 });
      while ((await copy.catchUp(stream)) < last);
      const rest = query.replace('_since=0', '_sort=id');
      const { body } = await stage.write('GET', `${records}?${rest}`);
      expect(copy.objects).toEqual((body as { data: unknown[] }).data);
    });

    it('mark what is gone for pollers that ask for it', async () => {
      const before = await stage.put('x', { status: 'open' });
      const closed = await stage.put('x', { status: 'closed' });
      const list = async (query: string): Promise<unknown> =>
        ((await stage.write('GET', `${records}?_since=${before}&status=open${query}`)).body as { data: unknown }).data;
      expect(await list('')).toEqual([]);
      expect(await list('&_gone=true')).toEqual([{ id: 'x', last_modified: closed, gone: true }]);
      expect(await list('&_gone=false')).toEqual([]);
      const { status, body } = await stage.service.request('GET', `${records}?status=open&_gone=true`);
      expect({ status, body }).toMatchObject({ status: 400, body: { errno: 107 } });
    });
  });
});
