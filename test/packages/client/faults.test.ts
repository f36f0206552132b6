// What the client does when requests fail: retries, pauses, its own writes recognised, and errors that name the cause.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  basic,
  bearer,
  Coffer,
  CofferError,
  type ClientOptions,
  type Collection,
} from '../../../packages/client/src/index.ts';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { FaultyProxy } from './faulty-proxy.ts';

interface Note {
  readonly n: number;
}

async function errorOf(call: Promise<unknown>): Promise<CofferError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CofferError);
  return error as CofferError;
}

describe('The client, with requests that fail,', () => {
  let service: TestService;
  let proxy: FaultyProxy;
  let coffer: Coffer;
  let notes: Collection<Note>;
  let collections = 0;

  beforeAll(async () => {
    service = await startTestService();
    const direct = new Coffer(service.origin, { auth: basic('ann', 'secret') });
    await direct.buckets.create({ id: 'b' });
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    proxy = await FaultyProxy.start(service.origin);
    coffer = open();
    collections += 1;
    await coffer.bucket('b').collections.create({ id: `c${collections}` });
    notes = coffer.bucket('b').collection<Note>(`c${collections}`);
    proxy.seen.length = 0;
  });
  afterEach(() => proxy.close());

  /** Short pauses, because the tests do not depend on time. */
  function open(options: ClientOptions = {}): Coffer {
    return new Coffer(proxy.origin, { auth: basic('ann', 'secret'), maxPauseMs: 20, ...options });
  }

  const busy = { status: 503, headers: { 'Retry-After': '0' }, body: '{"code":503,"errno":201,"message":"busy"}' };

  it('repeats reads after cut connections, lost and truncated responses, and temporary errors', async () => {
    const { id } = await notes.create({ n: 1 });
    for (const fault of ['cut', 'lose', 'truncate', busy, { status: 502, body: '<html>' }, { status: 504 }] as const) {
      proxy.faults.push(fault);
      expect(await notes.get(id)).toMatchObject({ n: 1 });
      proxy.faults.push(fault, fault);
      expect((await notes.list().all()).data).toHaveLength(1);
    }
  });

  it('recognises the object that it has created when the response was lost', async () => {
    proxy.faults.push('lose');
    const made = await notes.create({ n: 1 });
    proxy.faults.push('lose', 'truncate');
    const named = await notes.create({ id: 'named', n: 2 });
    expect(await notes.get(made.id)).toEqual(made);
    expect(await notes.get('named')).toEqual(named);
    expect(await notes.list().count()).toBe(2);
  });

  it('does not take the object of another client for its own', async () => {
    await notes.create({ id: 'named', n: 1 });
    proxy.faults.push('cut');
    expect(await errorOf(notes.create({ id: 'named', n: 2 }))).toMatchObject({ status: 412, existing: { n: 1 } });
    // A request that was refused was not executed, so an equal object comes from another client.
    proxy.faults.push({ ...busy, status: 429 });
    expect(await errorOf(notes.create({ id: 'named', n: 1 }))).toMatchObject({ status: 412 });
  });

  it('recognises its own conditional writes and deletions when the response was lost', async () => {
    const made = await notes.create({ n: 1 });
    proxy.faults.push('lose');
    const put = await notes.put(made.id, { n: 2 }, { ifMatch: made.last_modified });
    proxy.faults.push('lose');
    const patched = await notes.patch(made.id, { n: 3 }, { ifMatch: put.last_modified });
    expect(await notes.get(made.id)).toEqual(patched);
    proxy.faults.push('lose');
    const tombstone = await notes.delete(made.id, { ifMatch: patched.last_modified });
    expect((await notes.changes({ since: 0 }).all()).data).toEqual([tombstone]);
  });

  it('recognises what it has created with permissions when the response was lost', async () => {
    const permissions = { read: ['system.Everyone', 'account:eve'], write: ['account:bob'] };
    for (const data of [{ n: 1 }, { id: 'named', n: 1 }]) {
      proxy.faults.push('lose');
      const made = await notes.create(data, { permissions });
      expect(await notes.entry(made.id)).toMatchObject({ data: made, permissions: { read: expect.any(Array) } });
    }
  });

  it('does not take an equal object of another client for a change of permissions that was not executed', async () => {
    const direct = new Coffer(service.origin, { auth: basic('ann', 'secret') });
    const theirs = direct.bucket('b').collection<Note>(`c${collections}`);
    const mine = open({ maxAttempts: 1000 }).bucket('b').collection<Note>(`c${collections}`);
    const readable = { read: ['system.Everyone'] };
    const calls = [
      (ifMatch: number) => mine.patch('a', {}, { ifMatch, permissions: { read: [] } }),
      (ifMatch: number) => mine.patch('a', { n: 2 }, { ifMatch, permissions: { read: [] } }),
      (ifMatch: number) => mine.put('a', { n: 2 }, { ifMatch, permissions: { read: [] } }),
      () => mine.put('b', { n: 2 }, { ifNoneMatch: '*', permissions: readable }),
      () => mine.create({ id: 'b', n: 2 }, { permissions: readable }),
    ];
    for (const call of calls) {
      const { last_modified } = await theirs.put('a', { n: 1 }, { permissions: readable });
      // The other client writes while the first attempt is refused.
      proxy.rule = ({ method }) => (method === 'GET' ? undefined : busy);
      const outcome = errorOf(call(last_modified));
      await proxy.reached(proxy.seen.length + 1);
      for (const id of ['a', 'b']) await theirs.put(id, { n: 2 });
      proxy.rule = undefined;
      expect(await outcome).toMatchObject({ status: 412, existing: { n: 2 } });
      expect(await theirs.permissions('a').get()).toMatchObject(readable);
      await theirs.delete('b');
    }
  });

  it('reports a conflict when another client has written between the attempts', async () => {
    const made = await notes.create({ n: 1 });
    proxy.faults.push('cut');
    const direct = new Coffer(service.origin, { auth: basic('ann', 'secret') });
    const theirs = await direct.bucket('b').collection<Note>(`c${collections}`).put(made.id, { n: 9 });
    const error = await errorOf(notes.put(made.id, { n: 2 }, { ifMatch: made.last_modified }));
    expect(error.existing).toEqual(theirs);
  });

  it('does not repeat operations whose second execution differs, unless they were refused', async () => {
    const made = await notes.create({ n: 1 });
    const add = [{ op: 'add', path: '/data/list', value: [] }] as const;
    proxy.faults.push('lose');
    expect(await errorOf(notes.patch(made.id, add))).toMatchObject({ kind: 'network', status: 0 });
    proxy.faults.push(busy);
    expect(await errorOf(notes.patch(made.id, add))).toMatchObject({ kind: 'http', status: 503, errno: 201 });
    proxy.faults.push({ ...busy, status: 429 });
    expect(await notes.patch(made.id, add)).toMatchObject({ list: [] });
    proxy.faults.push('lose');
    expect(await errorOf(coffer.request('POST', notes.path, { body: { data: {} } }))).toMatchObject({
      kind: 'network',
    });
  });

  it('repeats a batch of repeatable requests, and no other', async () => {
    const make = (): Promise<unknown> =>
      coffer.batch((root) => {
        const same = root.bucket('b').collection<Note>(`c${collections}`);
        return [same.create({ id: 'x', n: 1 }), same.put('y', { n: 2 })];
      });
    proxy.faults.push('lose');
    expect(await make()).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
    expect(await notes.list().count()).toBe(2);
    proxy.faults.push('lose');
    const add = [{ op: 'add', path: '/data/list', value: [] }] as const;
    const error = await errorOf(
      coffer.batch((root) => [root.bucket('b').collection<Note>(`c${collections}`).patch('x', add)]),
    );
    expect(error.kind).toBe('network');
  });

  it('gives up after a number of attempts', async () => {
    proxy.rule = () => 'cut';
    expect(await errorOf(notes.get('x'))).toMatchObject({ kind: 'network', status: 0 });
    expect(proxy.seen).toHaveLength(5);
    expect(await errorOf(open({ maxAttempts: 1 }).info())).toMatchObject({ kind: 'network' });
    expect(proxy.seen).toHaveLength(6);
    proxy.rule = () => busy;
    expect(await errorOf(open({ maxAttempts: 2 }).info())).toMatchObject({ kind: 'http', status: 503, errno: 201 });
    expect(proxy.seen).toHaveLength(8);
    await proxy.close();
    expect(await errorOf(notes.get('x'))).toMatchObject({ kind: 'network' });
    proxy = await FaultyProxy.start(service.origin);
  });

  it('reads Retry-After as seconds and as a date of the clock of the service', async () => {
    const dates = { Date: 'Tue, 01 Jan 2030 00:00:00 GMT', 'Retry-After': 'Tue, 01 Jan 2030 01:00:00 GMT' };
    for (const headers of [{ 'Retry-After': '3600' }, dates]) {
      proxy.faults.push({ ...busy, headers });
      const error = await errorOf(notes.get('x'));
      expect(error).toMatchObject({ status: 503, retryAfterMs: 3_600_000 });
    }
    expect(proxy.seen).toHaveLength(2);
    const past = { Date: dates['Retry-After'], 'Retry-After': dates.Date };
    proxy.faults.push({ ...busy, headers: past });
    expect(await notes.list().count()).toBe(0);
  });

  it('sends nothing while the service wants silence', async () => {
    const controller = new AbortController();
    proxy.faults.push({ status: 200, headers: { Backoff: '30' }, body: '{}' });
    const slow = open({ maxPauseMs: 600_000 });
    await slow.info();
    const waiting = errorOf(slow.info({ signal: controller.signal }));
    controller.abort();
    expect(await waiting).toMatchObject({ kind: 'abort' });
    expect(proxy.seen).toHaveLength(1);
    const quick = open({ maxPauseMs: 1 });
    proxy.faults.push({ status: 200, headers: { Backoff: '3600' }, body: '{}' });
    await quick.info();
    expect(await quick.info()).toMatchObject({ project_name: 'Coffer' });
  });

  it('tells abort, time limit, network and unreadable responses apart', async () => {
    const controller = new AbortController();
    proxy.faults.push('silence');
    const stuck = errorOf(notes.get('x', { signal: controller.signal }));
    await proxy.reached(1);
    controller.abort(new Error('enough'));
    expect(await stuck).toMatchObject({ kind: 'abort', cause: { message: 'enough' } });
    expect(await errorOf(notes.get('x', { signal: controller.signal }))).toMatchObject({ kind: 'abort' });
    expect(proxy.seen).toHaveLength(1);
    proxy.faults.push('silence');
    const hasty = open({ timeoutMs: 50, maxAttempts: 1 });
    expect(await errorOf(hasty.info())).toMatchObject({ kind: 'timeout', status: 0 });
    proxy.faults.push({ status: 200, body: '<html>Please log in</html>' });
    expect(await errorOf(notes.get('x'))).toMatchObject({ kind: 'parse', status: 200 });
    proxy.faults.push({ status: 200, body: '' });
    expect(await errorOf(notes.get('x'))).toMatchObject({ kind: 'parse' });
    proxy.faults.push({ status: 200, body: '{"responses":[]}' });
    expect(await errorOf(coffer.batch((root) => [root.buckets.get('b')]))).toMatchObject({ kind: 'parse' });
  });

  it('ends the pause between attempts when it is aborted', async () => {
    const controller = new AbortController();
    const patient = open({ maxPauseMs: 10_000_000 });
    proxy.faults.push({ ...busy, headers: { 'Retry-After': '3600' } });
    const waiting = errorOf(patient.info({ signal: controller.signal }));
    await proxy.reached(1);
    controller.abort();
    expect(await waiting).toMatchObject({ kind: 'abort' });
  });

  it('renews credentials once when they are refused, for all requests together', async () => {
    let renewals = 0;
    const auth = bearer(async (isRefused) => {
      if (isRefused) renewals += 1;
      return renewals === 0 ? 'old' : 'new';
    });
    proxy.rule = ({ headers }) =>
      headers.authorization === 'Bearer old' ? { status: 401, body: '{"errno":104}' } : busyOnce();
    const busyOnce = (): { status: number; body: string } => ({
      status: 200,
      body: '{"data":{"id":"x","last_modified":1}}',
    });
    const client = open({ auth });
    await Promise.all([client.buckets.get('a'), client.buckets.get('b'), client.buckets.get('c')]);
    expect(renewals).toBe(1);
    const stubborn = open({ auth: bearer(() => 'old') });
    expect(await errorOf(stubborn.buckets.get('a'))).toMatchObject({ status: 401, errno: 104 });
    expect(await errorOf(open({ auth: bearer('old') }).buckets.get('a'))).toMatchObject({ status: 401 });
  });

  it('reports quotas and removed services without a retry', async () => {
    proxy.faults.push({ status: 507, body: '{"code":507,"errno":121,"message":"quota"}' });
    expect(await errorOf(notes.create({ n: 1 }))).toMatchObject({ status: 507, errno: 121 });
    proxy.faults.push({ status: 410, body: '{"code":410,"errno":202}' });
    expect(await errorOf(notes.list().page())).toMatchObject({ status: 410, errno: 202 });
    expect(proxy.seen).toHaveLength(2);
  });

  it('leaves out the cache of browsers, which may be older than the changes received, but for files', async () => {
    const caches: unknown[] = [];
    const client = open({
      fetch: (input, init) => {
        caches.push(Reflect.get(init!, 'cache'));
        return fetch(input, init);
      },
    });
    const list = client.bucket('b').collection<Note>(`c${collections}`);
    await list.create({ id: 'a', n: 1 });
    await list.get('a');
    await list.list({ total: true }).page();
    await list.changes({ since: 0 }).all();
    await list.list().pageIfChanged(1);
    expect(new Set(caches)).toEqual(new Set(['no-store']));
    await list
      .attachment('a')
      .read({ location: '/none' })
      .catch(() => {});
    expect(caches.at(-1)).toBe('default');
  });

  it('follows redirects of the service, and sends no credentials to another host', async () => {
    proxy.faults.push({ status: 307, headers: { Location: `/v1${notes.path}` } });
    expect(await notes.list().page()).toMatchObject({ data: [] });
    const other = await FaultyProxy.start(service.origin);
    const file = { location: `${other.origin}/v1/files/x` };
    other.rule = () => ({ status: 200, body: 'bytes' });
    const secretive = open({ headers: { 'X-Key': 'secret', 'X-Proxy': 'secret' } })
      .bucket('b')
      .collection('c');
    const blob = await secretive.attachment('x').read(file);
    const { headers } = other.seen[0]!;
    expect([await blob.text(), headers.authorization, headers['x-key']]).toEqual(['bytes', undefined, undefined]);
    await open({ headers: { 'X-Key': 'a' } })
      .request('PATCH', notes.path, { body: [], headers: { 'content-type': 'text/x' } })
      .catch(() => {});
    expect(proxy.seen.at(-1)?.headers).toMatchObject({ 'x-key': 'a', 'content-type': 'text/x' });
    await other.close();
  });
});
