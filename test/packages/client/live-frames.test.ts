// What the client makes of frames that a service sends in rare moments.
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Coffer, type ClientOptions } from '../../../packages/client/src/index.ts';
import { Follower } from './follower.ts';
import { frame, idOf, streamOf, stubFetch, type Script, type StubRequest } from './stub-service.ts';

function follow(scripts: readonly Script[], options: ClientOptions = {}, since = 0) {
  const stub = stubFetch(
    scripts.map(
      (script) =>
        ({ signal }: StubRequest) =>
          streamOf(script, signal),
    ),
  );
  const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5, ...options });
  const follower = new Follower(coffer.list<{ n: number }>('/things').live({ since }));
  onTestFinished(() => follower.stop());
  return { follower, requests: stub.requests };
}

const a = { id: 'a', n: 1, last_modified: 5 };
const b = { id: 'b', n: 2, last_modified: 8 };
const changes = (data: object, timestamp?: number): string =>
  frame('changes', { watch: 0, data: [data] }, timestamp === undefined ? undefined : idOf(timestamp));
const current = (timestamp: number): string => frame('current', { watch: 0 }, idOf(timestamp));

function refusal(status: number, errno: number): Response {
  return Response.json({ code: status, errno }, { status });
}

/** Follows a list from a timestamp. */
function followRefused(answer: (request: StubRequest) => Response, since = 5) {
  const stub = stubFetch([answer]);
  const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
  const follower = new Follower(coffer.list<{ n: number }>('/things').live({ since }));
  onTestFinished(() => follower.stop());
  return { follower, requests: stub.requests };
}

describe('The client that follows a list', () => {
  it('begins anew when a first copy without a place to resume was interrupted', async () => {
    const { follower, requests } = follow([
      [changes(a), undefined],
      [changes(b), current(9)],
    ]);
    await follower.until();
    expect([...follower.copy.keys()]).toEqual(['b']);
    expect(follower.resyncs).toEqual(['horizon']);
    expect(requests.map(({ target }) => target)).toEqual(
      Array.from({ length: 2 }, () => '/live?watch=%2Fthings%3F_since%3D0'),
    );
  });

  it('continues a first copy where it was interrupted', async () => {
    const { follower, requests } = follow([
      [changes(a, 5), undefined],
      [changes(b, 8), current(9)],
    ]);
    await follower.until();
    expect([...follower.copy.keys()]).toEqual(['a', 'b']);
    expect(follower.resyncs).toEqual([]);
    expect(requests.at(-1)?.target).toBe('/live?watch=%2Fthings%3F_since%3D5');
    expect(follower.last).toMatchObject({ cursor: '9', current: true });
  });

  it.each([403, 404, 405, 410])('continues after the page of a proxy with the status %i', async (status) => {
    const page = (): Response => new Response('<html></html>', { status });
    const list = (): Response => Response.json({ data: [b] }, { headers: { ETag: '"9"' } });
    const stub = stubFetch([page, page, list]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const follower = new Follower(coffer.list<{ n: number }>('/things').live({ since: 5 }));
    onTestFinished(() => follower.stop());
    await follower.until(({ copy }) => copy.has('b'));
    expect(follower.resyncs).toEqual([]);
  });

  it.each(['sse', 'poll'] as const)('waits for Retry-After no longer than maxPauseMs (%s)', async (transport) => {
    const busy = Response.json({ code: 503, errno: 201 }, { status: 503, headers: { 'Retry-After': '3600' } });
    const stub = stubFetch([
      () => busy,
      ({ signal }) =>
        transport === 'sse'
          ? streamOf([changes(a, 5), current(5)], signal)
          : Response.json({ data: [a] }, { headers: { ETag: '"5"' } }),
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const follower = new Follower(coffer.list<{ n: number }>('/things').live({ transport }));
    onTestFinished(() => follower.stop());
    await follower.until(({ copy }) => copy.has('a'));
  });

  it('is current after several pages of a poll only when it knows what changed between them', async () => {
    const page = (data: object[], etag: number, next?: string) => (): Response =>
      Response.json({ data }, { headers: { ETag: `"${etag}"`, ...(next === undefined ? {} : { 'Next-Page': next }) } });
    const stub = stubFetch([
      page([{ id: 'c', n: 3, last_modified: 9 }], 9, '/things?_token=2'),
      page([a], 10),
      page([{ ...b, last_modified: 10 }], 10),
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const follower = new Follower(coffer.list<{ n: number }>('/things').live({ transport: 'poll' }));
    onTestFinished(() => follower.stop());
    await follower.until();
    expect([...follower.copy.keys()].toSorted()).toEqual(['a', 'b', 'c']);
    expect(stub.requests.slice(0, 3).map(({ target }) => target)).toEqual([
      '/things?_since=0',
      '/things?_token=2',
      '/things?_since=9',
    ]);
  });

  it('reads frames that arrive in pieces, with comments between them', async () => {
    const text = `retry: 10\n\n:\n\n${changes(a, 5)}:\n\n${current(9)}`;
    const { follower } = follow([text.split('')]);
    await follower.until(({ copy }) => copy.has('a'));
    expect(follower.last?.cursor).toBe('9');
  });

  it('ignores events of other lists and events that it does not know', async () => {
    const { follower } = follow([
      [frame('changes', { watch: 7, data: [b] }, '1.2'), frame('future', { watch: 0 }), changes(a, 5), current(5)],
    ]);
    await follower.until(({ copy }) => copy.has('a'));
    expect([...follower.copy.keys()]).toEqual(['a']);
  });

  it('connects again after malformed events', async () => {
    const { follower, requests } = follow([
      ['event: changes\ndata: {"watch":0,"data":\n\n'],
      ['event: changes\ndata: null\n\n'],
      [changes(a, 5), current(5)],
    ]);
    await follower.until();
    expect(requests).toHaveLength(3);
  });

  it('comes back after the time that the service names at the end', async () => {
    const end = `retry: 3\n${frame('end', { code: 503, errno: 201 })}`;
    const { follower, requests } = follow([
      [changes(a, 5), current(5), end],
      [changes(b, 8), current(8)],
    ]);
    await follower.until(({ copy }) => copy.has('b'));
    expect(requests).toHaveLength(2);
    expect(follower.resyncs).toEqual([]);
  });

  it('drops what waits when the copy is not valid any more', async () => {
    const { follower } = follow([
      [changes(a, 5) + current(5) + frame('resync', { watch: 0, reason: 'flushed' }) + current(7) + changes(b, 8)],
      [changes({ ...b, id: 'c' }, 8) + current(9)],
    ]);
    await follower.until(({ copy }) => copy.has('c'));
    expect([...follower.copy.keys()]).toEqual(['c']);
    expect(follower.resyncs).toEqual(['flushed']);
  });

  it('ends with the error of the list that was refused', async () => {
    const { follower } = follow([
      [frame('refused', { watch: 0, code: 403, errno: 121, error: 'Forbidden', message: 'No.', details: { x: 1 } })],
    ]);
    expect(await follower.ended).toMatchObject({
      kind: 'http',
      status: 403,
      errno: 121,
      details: { x: 1 },
      message: '403 No.',
    });
  });

  it('begins anew when its place is refused as too old', async () => {
    const scripts = [[frame('refused', { watch: 0, code: 410, errno: 107 })], [changes(a, 5), current(5)]];
    const { follower } = follow(scripts, {}, 3);
    await follower.until();
    expect(follower.resyncs).toEqual(['horizon']);
  });

  it('ends when a complete copy is refused as too old', async () => {
    const { follower, requests } = follow([[frame('refused', { watch: 0, code: 410, errno: 107 })]]);
    expect(await follower.ended).toMatchObject({ kind: 'http', status: 410, errno: 107 });
    expect(requests).toHaveLength(1);
  });

  it('begins anew when the whole request is refused because its place is too old', async () => {
    const { follower, requests } = followRefused(({ target, signal }) =>
      decodeURIComponent(target).includes('_since=0') ? streamOf([current(5)], signal) : refusal(410, 107),
    );
    await follower.until();
    expect(follower.resyncs).toEqual(['horizon']);
    expect(requests).toHaveLength(3);
  });

  it.each([0, 5])('ends when the service itself is gone, and keeps its copy (since %i)', async (since) => {
    const { follower } = followRefused(() => refusal(410, 202), since);
    expect(await follower.ended).toMatchObject({ kind: 'http', status: 410, errno: 202 });
    expect(follower.resyncs).toEqual([]);
  });

  it('ends each list with its own error when all are refused', async () => {
    const statuses: Readonly<Record<string, number>> = { '/a': 403, '/b': 404, '/c': 405 };
    const stub = stubFetch([
      // The first list of a stream, or the polled one.
      ({ target }) => refusal(statuses[/\/[abc](?=\?)/.exec(decodeURIComponent(target))![0]]!, 1),
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const followers = Object.keys(statuses).map((path) => new Follower(coffer.list<{ n: number }>(path).live()));
    const errors = await Promise.all(followers.map(({ ended }) => ended));
    expect(errors).toMatchObject([{ status: 403 }, { status: 404 }, { status: 405 }]);
    expect(stub.requests).toHaveLength(4);
  });

  it('ends the list that makes a request malformed, and goes on with the others', async () => {
    const stub = stubFetch([
      ({ target, signal }) => {
        if (target.includes('bad')) return refusal(400, 107);
        if (target.startsWith('/live')) return streamOf([current(5)], signal);
        return Response.json({ data: [a] }, { headers: { ETag: '"5"' } });
      },
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const [bad, good] = ['/bad', '/good'].map((path) => new Follower(coffer.list<{ n: number }>(path).live()));
    onTestFinished(() => good!.stop());
    expect(await bad!.ended).toMatchObject({ kind: 'http', status: 400, errno: 107 });
    await good!.until();
  });

  it('begins anew when a polled list is older than its cursor, as after a restore of a backup', async () => {
    const page = (data: object[], etag: number): Response =>
      new Response(JSON.stringify({ data }), { headers: { ETag: `"${etag}"` } });
    const stub = stubFetch([
      () => page([a, b], 8),
      () => page([], 6),
      ({ target }) => {
        expect(target).toContain('_since=0');
        return page([a], 6);
      },
      () => page([{ ...b, id: 'c' }], 9),
      () => page([], 9),
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const follower = new Follower(coffer.list<{ n: number }>('/things').live({ transport: 'poll' }));
    onTestFinished(() => follower.stop());
    await follower.until(({ copy }) => copy.has('c'));
    expect([...follower.copy.keys()]).toEqual(['a', 'c']);
    expect(follower.resyncs).toEqual(['flushed']);
  });

  it('takes objects with an attribute `gone` for no markers', async () => {
    const object = { ...b, id: 'c', gone: true };
    const { follower } = follow([
      [changes(object, 8), changes({ id: 'a', last_modified: 9, gone: true }, 9), current(9)],
    ]);
    await follower.until();
    expect([...follower.copy.values()]).toEqual([object]);
  });

  it('polls where streams are empty', async () => {
    const stub = stubFetch([
      ({ signal, target }) =>
        target.startsWith('/live')
          ? new Response('', { headers: { 'Content-Type': 'text/event-stream' } })
          : target.includes('_live=poll')
            ? streamOf([], signal)
            : Response.json({ data: [a] }, { headers: { ETag: '"5"' } }),
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const follower = new Follower(coffer.list<{ n: number }>('/things').live());
    onTestFinished(() => follower.stop());
    await follower.until(({ copy }) => copy.has('a'));
    expect(stub.requests.filter(({ target }) => target.startsWith('/live'))).toHaveLength(1);
  });

  it('polls on while other consumers take nothing', async () => {
    const stub = stubFetch([
      ({ signal, target }) => {
        if (target.startsWith('/live')) return refusal(404, 111);
        if (/^\/(?:things|[xy]\?_since=20).*_live=poll/.test(target)) return streamOf([], signal);
        const timestamp = target.includes('_live=poll') ? 20 : 8;
        return Response.json({ data: [b, a] }, { headers: { ETag: `"${timestamp}"` } });
      },
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5, live: { stallMs: 20 } });
    const slow = ['/x', '/y'].map((path) => coffer.list(path).live({ buffer: 2 })[Symbol.asyncIterator]());
    onTestFinished(async () => {
      for (const each of slow) await each.return?.();
    });
    await Promise.all(slow.map((each) => each.next()));
    await expect.poll(() => stub.requests.filter(({ target }) => target.includes('_live=poll')).length).toBe(2);
    // Longer than `stallMs`.
    await pause(200);
    const follower = new Follower(coffer.list<{ n: number }>('/things').live());
    onTestFinished(() => follower.stop());
    await follower.until(({ copy }) => copy.has('a'));
    for (const each of slow) expect((await each.next()).value).toMatchObject({ cursor: '20', changes: [a, b] });
  });

  it('follows the pages of a polled list, oldest first within each', async () => {
    const page = (data: object[], etag: number, next?: string): Response =>
      new Response(JSON.stringify({ data }), {
        headers: {
          ETag: `"${etag}"`,
          ...(next === undefined ? {} : { 'Next-Page': `http://other.test/v9/x?${next}` }),
        },
      });
    const stub = stubFetch([
      () => page([{ ...b, id: 'c', last_modified: 9 }, b], 9, '_token=t'),
      () => page([a], 10),
      () => page([], 9),
    ]);
    const coffer = new Coffer('http://coffer.test', { fetch: stub.fetch, maxPauseMs: 5 });
    const follower = new Follower(coffer.list<{ n: number }>('/things').live({ transport: 'poll' }));
    onTestFinished(() => follower.stop());
    await follower.until();
    expect(follower.updates[0]?.changes.map(({ id }) => id)).toEqual(['b', 'c']);
    expect(follower.last).toMatchObject({ cursor: '9', current: true });
    expect(stub.requests[1]?.target).toBe('/things?_token=t');
  });
});
