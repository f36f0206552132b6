// `GET /live`: several lists on one connection.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { ListCopy } from './list-copy.ts';
import { Stage } from './stage.ts';

const c = '/buckets/b/collections/c/records';
const d = '/buckets/b/collections/d/records';

function watch(...lists: readonly string[]): string {
  return `/v1/live?${lists.map((list) => `watch=${encodeURIComponent(list)}`).join('&')}`;
}

forEachBackend((backend) => {
  describe(`several lists on one connection on ${backend.name}`, () => {
    let stage: Stage;
    beforeEach(async () => {
      stage = await Stage.start(backend, { settings: { live_recheck_seconds: '0.5' } });
      await stage.write('PUT', '/v1/buckets/b/collections/d', { permissions: { read: ['system.Everyone'] } });
    });
    afterEach(() => stage.close());

    it('sends the changes of each list with its path, and begins with the place of each', async () => {
      const stream = await stage.follow(watch(c, d));
      expect(stream.headers['content-type']).toBe('text/event-stream');
      const first = [await stream.next(), await stream.next()];
      expect(first.map(({ event }) => event)).toEqual(['current', 'current']);
      expect(new Set(first.map(({ data }) => data.list))).toEqual(new Set([c, d]));
      await stage.write('PUT', `/v1${d}/x`, { data: { n: 1 } });
      expect(await stream.next()).toMatchObject({ event: 'changes', data: { list: d, data: [{ id: 'x', n: 1 }] } });
    });

    it('goes on with every list from the id of a frame', async () => {
      await stage.write('PUT', `/v1${c}/a`);
      const stream = await stage.follow(watch(`${c}?_since=0`, `${d}?_since=0&n=1`));
      const copies = new Map([c, d].map((list) => [list, new ListCopy()]));
      let id: string | undefined;
      for (let current = 0; current < 2;) {
        const event = await stream.next();
        await copies.get(event.data.list)!.apply(event);
        if (event.event === 'current') current += 1;
        id = event.id ?? id;
      }
      stream.close();
      await stage.write('PUT', `/v1${c}/b`);
      await stage.write('DELETE', `/v1${c}/a`);
      await stage.write('PUT', `/v1${d}/x`, { data: { n: 1 } });
      await stage.write('PUT', `/v1${d}/y`, { data: { n: 2 } });
      const again = await stage.follow(watch(`${c}?_since=0`, `${d}?_since=0&n=1`), {
        headers: { 'last-event-id': id! },
      });
      for (let current = 0; current < 2;) {
        const event = await again.next();
        await copies.get(event.data.list)!.apply(event);
        if (event.event === 'current') current += 1;
      }
      expect(copies.get(c)!.objects.map((object) => object.id)).toEqual(['b']);
      expect(copies.get(d)!.objects.map((object) => object.id)).toEqual(['x']);
    });

    it('refuses single lists, and goes on with the others', async () => {
      await stage.write('PUT', '/v1/buckets/b/collections/private');
      const hidden = '/buckets/b/collections/private/records';
      const stream = await stage.follow(watch(c, hidden, '/buckets/nowhere/groups', `${d}?_since=1`));
      const refused = new Map<string, any>();
      while (refused.size < 2) {
        const { event, data, id } = await stream.next();
        if (event !== 'refused') continue;
        expect(id).toBeUndefined();
        refused.set(data.list, data);
      }
      expect(refused.get(hidden)).toMatchObject({ code: 401, errno: 104 });
      expect(refused.get('/buckets/nowhere/groups')).toMatchObject({ code: 401, errno: 104 });
      await stage.write('PUT', `/v1${c}/x`);
      const { data } = await stream.until('changes');
      expect(data).toMatchObject({ list: c, data: [{ id: 'x' }] });
    });

    it('responds with the first refusal when every list is refused', async () => {
      await stage.write('PUT', '/v1/buckets/b/collections/private');
      const hidden = '/buckets/b/collections/private/records';
      const missing = '/buckets/b/collections/missing/records';
      const refusals = [
        [watch(hidden), undefined, 401, 104],
        [watch(hidden), 'bob', 403, 121],
        [watch(hidden, missing), 'bob', 403, 121],
        [watch(missing, missing), 'alice', 404, 111],
        [watch('/buckets/nowhere/groups'), 'alice', 403, 121],
      ] as const;
      for (const [path, auth, status, errno] of refusals) {
        const stream = await stage.follow(path, auth === undefined ? {} : { auth });
        expect(stream, path).toMatchObject({ status, error: { code: status, errno } });
        expect(stream.headers['content-type']).toContain('application/json');
        expect(stream.headers['www-authenticate']).toBeUndefined();
      }
    });

    it('refuses a list whose access is lost later, and ends with the last list', async () => {
      const stream = await stage.follow(watch(c, d));
      await stream.until('current');
      await stage.write('PATCH', '/v1/buckets/b/collections/c', { permissions: { read: [] } });
      const { data } = await stream.until('refused');
      expect(data).toMatchObject({ list: c, errno: 121 });
      await stage.write('PUT', `/v1${d}/x`);
      expect((await stream.until('changes')).data).toMatchObject({ list: d });
      await stage.write('DELETE', '/v1/buckets/b/collections/d');
      expect((await stream.until('refused')).data).toMatchObject({ list: d, code: 403 });
      expect(await stream.nextOrEnd()).toBeUndefined();
    });

    it('refuses requests that are malformed as a whole', async () => {
      for (const path of [
        '/v1/live',
        '/v1/live?watch=',
        '/v1/live?watch=buckets',
        watch(...Array<string>(51).fill(c)),
        // No lists, which are not even asked.
        ...[
          '/nowhere',
          '/buckets/b/collections/c',
          '/__heartbeat__',
          '/',
          `${c}/`,
          '/buckets/b%00/groups%FF',
          '/live',
        ].map((other) => watch(c, other)),
        ...[
          '_sort=id',
          '_limit=1',
          '_token=x',
          '_live=poll',
          '_live=sse',
          '_wait=1',
          '_since=x',
          '_since=',
          '_filter=x',
          '_q=x',
        ].map((query) => watch(d, `${c}?${query}`)),
        // Whether or not the caller may read the list.
        watch('/buckets/nowhere/groups?_sort=id'),
      ]) {
        const { status, error } = await stage.follow(path);
        expect({ status, error }, path).toMatchObject({ status: 400, error: { errno: 107 } });
      }
      for (const token of ['x', 'a.b.c', '.', '-1.2', `${'a'.repeat(5000)}.1`, 'zzzzzzzzzzzz.1', '1,2']) {
        const { status, error } = await stage.follow(watch(c, d, c), { headers: { 'last-event-id': token } });
        if (token === 'a.b.c') continue;
        expect({ status, error }, token).toMatchObject({ status: 400, error: { errno: 107 } });
      }
      const { status } = await stage.service.request('POST', '/v1/live', { auth: 'alice', body: {} });
      expect(status).toBe(405);
      expect((await stage.follow(watch(...Array<string>(50).fill(c)))).status).toBe(200);
    });
  });
});
