// Streams of one list: which frames a client gets, and from where.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { forgetting } from '../support/forgetting.ts';
import { ListCopy } from './list-copy.ts';
import { records, Stage } from './stage.ts';

forEachBackend((backend) => {
  describe(`streams of a list on ${backend.name}`, () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await Stage.start(backend, { plugins: [forgetting], settings: { includes: 'history' } });
    });
    afterAll(() => stage.close());

    it('begin with the ETag of the list when the client gives no cursor', async () => {
      const written = await stage.put('first');
      const stream = await stage.follow('');
      expect(stream.status).toBe(200);
      expect(stream.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      expect(await stream.next()).toEqual({ event: 'current', id: String(written), retry: undefined, data: {} });
      expect(Number(stream.retry)).toBeGreaterThanOrEqual(1000);
      expect(Number(stream.retry)).toBeLessThan(5000);
    });

    it('send every live object from _since=0', async () => {
      await stage.put('begin-1', { n: 1 });
      await stage.put('begin-2', { n: 2 });
      await stage.remove('begin-1');
      const copy = new ListCopy();
      const id = await copy.catchUp(await stage.follow('_since=0'));
      const { body } = await stage.write('GET', `${records}?_sort=id`);
      expect(copy.objects).toEqual((body as { data: unknown[] }).data);
      expect(id).toBe(await stage.clock());
    });

    it('send creations, updates and deletions in the order of the clock', async () => {
      const stream = await stage.follow('');
      await stream.until('current');
      const created = await stage.put('order', { n: 1 });
      expect(await stream.next()).toMatchObject({
        event: 'changes',
        id: String(created),
        data: { data: [{ id: 'order', last_modified: created, n: 1 }] },
      });
      expect(await stream.next()).toMatchObject({ event: 'current', id: String(created) });
      const updated = await stage.put('order', { n: 2 });
      expect(await stream.next()).toMatchObject({
        event: 'changes',
        id: String(updated),
        data: { data: [{ id: 'order', last_modified: updated, n: 2 }] },
      });
      await stream.until('current');
      const deleted = await stage.remove('order');
      expect(await stream.next()).toMatchObject({
        event: 'changes',
        id: String(deleted),
        data: { data: [{ id: 'order', last_modified: deleted, deleted: true }] },
      });
    });

    it('send the changes of a transaction in one frame, oldest first', async () => {
      const stream = await stage.follow('');
      await stream.until('current');
      const requests = ['t3', 't1', 't2'].map((id) => ({ method: 'PUT', path: `${records.slice(3)}/${id}` }));
      await stage.write('POST', '/v1/batch', { requests });
      const { data, id } = await stream.next();
      expect(data.data.map((each: { id: string }) => each.id)).toEqual(['t3', 't1', 't2']);
      expect(id).toBe(String(data.data[2].last_modified));
    });

    it('go on from _since, and from Last-Event-ID where both are given', async () => {
      const first = await stage.put('resume-1');
      const second = await stage.put('resume-2');
      const third = await stage.put('resume-3');
      const bySince = await stage.follow(`_since=${first}`);
      const idsOf = ({ data }: { data: any }): string[] => data.data.map(({ id }: { id: string }) => id);
      expect(idsOf(await bySince.next())).toEqual(['resume-2', 'resume-3']);
      const quoted = await stage.follow(`_since=${encodeURIComponent(`"${second}"`)}`);
      expect(idsOf(await quoted.next())).toEqual(['resume-3']);
      const byId = await stage.follow(`_since=${first}`, { headers: { 'last-event-id': String(second) } });
      expect(idsOf(await byId.next())).toEqual(['resume-3']);
      const atEnd = await stage.follow('', { headers: { 'last-event-id': String(third) } });
      expect(await atEnd.next()).toMatchObject({ event: 'current', id: String(third) });
    });

    it('show the selected fields alone', async () => {
      const stream = await stage.follow('_fields=a');
      await stream.until('current');
      const timestamp = await stage.put('fields', { a: 1, b: 2 });
      const { data } = await stream.next();
      expect(data).toEqual({ data: [{ id: 'fields', last_modified: timestamp, a: 1 }] });
    });

    it('refuse a cursor when deletions after it are not known any more', async () => {
      const before = await stage.put('forgotten');
      const deleted = await stage.remove('forgotten');
      await stage.write('POST', '/v1/forget?parent=/buckets/b/collections/c');
      const stream = await stage.follow(`_since=${before}`);
      expect(stream.status).toBe(410);
      expect(stream.error).toMatchObject({ code: 410, errno: 107 });
      expect((await stage.follow(`_since=${deleted}`)).status).toBe(200);
      expect((await stage.follow('_since=0')).status).toBe(200);
      expect((await stage.follow('_since=1')).status).toBe(410);
    });

    it('tell followers to fetch the list again when deletions are forgotten that they have not received', async () => {
      const stream = await stage.follow('');
      await stream.until('current');
      // One transaction deletes and forgets, so that no follower can see the tombstone.
      await stage.put('never-seen');
      const copy = new ListCopy();
      await copy.catchUp(stream);
      const requests = [
        { method: 'DELETE', path: `${records.slice(3)}/never-seen` },
        { method: 'POST', path: '/forget?parent=/buckets/b/collections/c' },
      ];
      await stage.write('POST', '/v1/batch', { requests });
      expect((await stream.until('resync')).data).toEqual({ reason: 'horizon' });
      expect(await stream.next()).toMatchObject({ event: 'current', id: String(await stage.clock()) });
    });

    it.each([
      ['/v1/buckets/b/groups', 'g', { data: { members: [] } }],
      ['/v1/buckets/b/collections', 'other', {}],
    ])('follow %s', async (list, id, body) => {
      const stream = await stage.follow(`${list}?_live=sse`, { auth: 'alice' });
      await stream.until('current');
      await stage.write('PUT', `${list}/${id}`, body);
      expect((await stream.next()).data).toMatchObject({ data: [{ id }] });
    });

    it('follow the buckets, of which a new one changes what the caller may see', async () => {
      const stream = await stage.follow('/v1/buckets?_live=sse', { auth: 'alice' });
      await stream.until('current');
      await stage.write('PUT', '/v1/buckets/another');
      expect((await stream.next()).data).toEqual({ reason: 'access' });
      expect(await stream.next()).toMatchObject({ event: 'current', id: `0${await stage.clock('/v1/buckets')}` });
      await stage.write('PATCH', '/v1/buckets/another', { data: { a: 1 } });
      expect((await stream.next()).data).toMatchObject({ data: [{ id: 'another', a: 1 }] });
    });

    it('follow the history', async () => {
      const stream = await stage.follow('/v1/buckets/b/history?_live=sse&resource_name=record', { auth: 'alice' });
      await stream.until('current');
      const timestamp = await stage.put('in-history');
      const { data } = await stream.next();
      const { data: entries } = data as { data: { action: string; target: { data: unknown } }[] };
      expect(entries).toHaveLength(1);
      expect(entries[0]).toMatchObject({
        action: 'create',
        target: { data: { id: 'in-history', last_modified: timestamp } },
      });
    });
  });
});
