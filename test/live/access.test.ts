// What streams show to whom, and what happens when access, credentials or the list itself are lost.
import { afterEach, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import type { EventClient } from './event-client.ts';
import { ListCopy } from './list-copy.ts';
import { records, Stage } from './stage.ts';

const quick = { settings: { live_recheck_seconds: '0.5' } };

forEachBackend((backend) => {
  describe(`access of streams on ${backend.name}`, () => {
    let stage: Stage;
    afterEach(() => stage.close());

    it('requires permission to read the list', async () => {
      stage = await Stage.start(backend, {}, { read: ['system.Authenticated'] });
      expect((await stage.follow('', { auth: 'bob' })).status).toBe(200);
      expect(await stage.follow('')).toMatchObject({ status: 401, error: { errno: 104 } });
      await stage.setReaders();
      expect(await stage.follow('', { auth: 'bob' })).toMatchObject({ status: 403, error: { errno: 121 } });
      expect((await stage.follow('/v1/buckets/none/collections/c/records?_live=sse', { auth: 'bob' })).status).toBe(
        403,
      );
      expect((await stage.follow('/v1/buckets/b/collections/none/records?_live=sse', { auth: 'alice' })).status).toBe(
        404,
      );
    });

    it('ends 100 streams of a user who loses access, and no other', async () => {
      stage = await Stage.start(backend, quick, { read: ['system.Authenticated'] });
      const streams = await Promise.all(Array.from({ length: 100 }, () => stage.follow('', { auth: 'bob' })));
      const other = await stage.follow('', { auth: 'alice' });
      await Promise.all([...streams, other].map((stream) => stream.until('current')));
      await stage.setReaders();
      for (const stream of streams) {
        const end = await stream.next();
        expect(end).toMatchObject({ event: 'end', id: undefined, data: { code: 403, errno: 121 } });
        expect(await stream.nextOrEnd()).toBeUndefined();
      }
      const timestamp = await stage.put('afterwards');
      expect(await other.next()).toMatchObject({ event: 'changes', id: String(timestamp) });
      expect((await stage.follow('', { auth: 'bob' })).status).toBe(403);
    });

    it('never sends what was written after access was lost', async () => {
      stage = await Stage.start(backend, { settings: { live_recheck_seconds: '3600' } });
      const stream = await stage.follow('');
      await stream.until('current');
      await stage.setReaders();
      await stage.put('secret', { secret: true });
      expect(await stream.next()).toMatchObject({ event: 'end', data: { errno: 121 } });
    });

    it('ends when a user leaves the group that grants access', async () => {
      stage = await Stage.start(backend, quick, {});
      const members = [await stage.idOf('bob')];
      await stage.write('PUT', '/v1/buckets/b/groups/readers', { data: { members } });
      await stage.setReaders('/buckets/b/groups/readers');
      const stream = await stage.follow('', { auth: 'bob' });
      await stream.until('current');
      await stage.write('PUT', '/v1/buckets/b/groups/readers', { data: { members: [] } });
      expect(await stream.next()).toMatchObject({ event: 'end', data: { errno: 121 } });
    });

    it('ends when the collection is deleted', async () => {
      stage = await Stage.start(backend, quick);
      const stream = await stage.follow('', { auth: 'alice' });
      await stream.until('current');
      await stage.write('DELETE', '/v1/buckets/b/collections/c');
      const { data } = await stream.until('end');
      expect(data).toMatchObject({ code: 404, errno: 111 });
    });

    it('shows objects that are shared one by one, and nothing of others', async () => {
      stage = await Stage.start(backend, quick, {});
      const bob = await stage.idOf('bob');
      const share = (id: string, data: object, read: readonly string[]): Promise<unknown> =>
        stage.write('PUT', `${records}/${id}`, { data, permissions: { read } });
      await share('mine', { n: 1 }, [bob]);
      await stage.put('foreign', { secret: true });
      const stream = await stage.follow('_since=0', { auth: 'bob' });
      const copy = new ListCopy(async () => {
        const { body } = await stage.write('GET', records, undefined, 'bob');
        return (body as { data: { id: string }[] }).data;
      });
      await copy.catchUp(stream);
      expect(copy.objects).toMatchObject([{ id: 'mine', n: 1 }]);

      await stage.put('foreign', { secret: 'still' });
      await stage.remove('foreign');
      await stage.put('mine', { n: 2 });
      // The frames of foreign changes, if any, carry nothing but the place.
      await seen(stream, copy, (objects) => objects.some(({ n }) => n === 2));
      expect(copy.objects).toMatchObject([{ id: 'mine', n: 2 }]);

      await share('later', {}, [bob]);
      expect((await stream.until('resync')).data).toEqual({ reason: 'access' });
      await copy.apply({ event: 'resync', id: undefined, retry: undefined, data: { reason: 'access' } });
      expect(copy.objects.map(({ id }) => id)).toEqual(['later', 'mine']);
    });

    it('begins with resync when a client resumes that sees single objects', async () => {
      stage = await Stage.start(backend, {}, {});
      const bob = await stage.idOf('bob');
      await stage.write('PUT', `${records}/mine`, { permissions: { read: [bob] } });
      const stream = await stage.follow('_since=0', { auth: 'bob' });
      const { id } = await stream.until('current');
      stream.close();
      await stage.write('PUT', `${records}/other`, { permissions: { read: [bob] } });
      await stage.write('PUT', `${records}/mine`, { permissions: { read: [] } });
      const resumed = await stage.follow('', { auth: 'bob', headers: { 'last-event-id': id! } });
      expect(await resumed.next()).toMatchObject({ event: 'resync', data: { reason: 'access' } });
      await resumed.until('current');
      await stage.write('PUT', `${records}/other`, { data: { n: 1 } });
      expect((await resumed.next()).data).toMatchObject({ data: [{ id: 'other', n: 1 }] });
    });

    it('begins with resync when a client resumes that saw single objects before', async () => {
      stage = await Stage.start(backend, {}, {});
      const bob = await stage.idOf('bob');
      await stage.put('foreign');
      await stage.write('PUT', `${records}/mine`, { permissions: { read: [bob] } });
      const lists = `/v1/live?watch=${encodeURIComponent('/buckets/b/collections/c/records?_since=0')}`;
      for (const path of ['_since=0', lists]) {
        const stream = await stage.follow(path, { auth: 'bob' });
        const { id } = await stream.until('current');
        expect(id).toMatch(/^0[\da-z]+$/);
        stream.close();
        await stage.setReaders(bob);
        const resumed = await stage.follow(path, { auth: 'bob', headers: { 'last-event-id': id! } });
        expect(await resumed.next()).toMatchObject({ event: 'resync', data: { reason: 'access' } });
        expect((await resumed.next()).id).not.toMatch(/~/);
        await stage.setReaders();
      }
    });

    it('shows the whole list to a user who gets access to it while following', async () => {
      stage = await Stage.start(backend, quick, {});
      const bob = await stage.idOf('bob');
      await stage.write('PUT', `${records}/mine`, { permissions: { read: [bob] } });
      await stage.put('foreign');
      const stream = await stage.follow('_since=0', { auth: 'bob' });
      await stream.until('current');
      await stage.setReaders(bob);
      expect((await stream.until('resync')).data).toEqual({ reason: 'access' });
      await stream.until('current');
      await stage.put('foreign', { n: 1 });
      expect((await stream.next()).data).toMatchObject({ data: [{ id: 'foreign', n: 1 }] });
    });

    it('tells clients to fetch the list again after a flush', async () => {
      stage = await Stage.start(backend, { settings: { ...quick.settings, includes: 'flush' } });
      await stage.put('a');
      const stream = await stage.follow('/v1/buckets?_live=sse', { auth: 'alice' });
      await stream.until('current');
      await stage.write('POST', '/v1/__flush__');
      expect((await stream.until('resync')).data).toEqual({ reason: 'flushed' });
      await stream.until('current');
    });

    it('ends when the password of an account changes', async () => {
      const settings = {
        ...quick.settings,
        includes: 'accounts',
        'multiauth.policies': 'account',
        account_create_principals: 'system.Everyone',
      };
      stage = new Stage(await backend.start({ settings }));
      const as = (password: string): Record<string, string> => ({
        authorization: `Basic ${Buffer.from(`eve:${password}`).toString('base64')}`,
      });
      const send = async (method: string, path: string, password: string, body?: object): Promise<void> => {
        const { status, text } = await stage.service.request(method, path, {
          headers: as(password),
          ...(body === undefined ? {} : { body }),
        });
        expect(status, text).toBeLessThan(300);
      };
      const { status, text } = await stage.service.request('PUT', '/v1/accounts/eve', {
        body: { data: { password: 'first' } },
      });
      expect(status, text).toBe(201);
      await send('PUT', '/v1/buckets/b', 'first');
      const stream = await stage.follow('/v1/buckets/b/collections?_live=sse', { headers: as('first') });
      await stream.until('current');
      await send('PATCH', '/v1/accounts/eve', 'first', { data: { password: 'second' } });
      expect(await stream.next()).toMatchObject({ event: 'end', data: { code: 401, errno: 104 } });
      expect(await stream.nextOrEnd()).toBeUndefined();
    });
  });
});

/** Applies frames until the copy is as wanted. */
async function seen(
  stream: EventClient,
  copy: ListCopy,
  isDone: (objects: readonly { n?: unknown }[]) => boolean,
): Promise<void> {
  while (!isDone(copy.objects as readonly { n?: unknown }[])) {
    const event = await stream.next();
    expect(JSON.stringify(event.data)).not.toMatch(/foreign|secret/);
    await copy.apply(event);
  }
}
