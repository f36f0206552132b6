// Requests for live updates that are refused before any stream opens, and limits of streams.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { testBackends } from '../../src/testing/index.ts';
import type { OpenOptions } from './event-client.ts';
import { records, Stage } from './stage.ts';

const memory = testBackends[0]!;

forEachBackend((backend) => {
  describe(`refused live updates on ${backend.name}`, () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await Stage.start(backend);
      await stage.put('x');
    });
    afterAll(() => stage.close());

    it.each([
      ['GET', '_live=foo', '_live'],
      ['GET', '_live=', '_live'],
      ['GET', '_live=SSE', '_live'],
      ['GET', '_live=sse&_sort=id', '_sort'],
      ['GET', '_live=sse&_limit=5', '_limit'],
      ['GET', '_live=sse&_token=abc', '_token'],
      ['GET', '_live=sse&_since=abc', '_since'],
      ['GET', '_live=sse&_since=-1', '_since'],
      ['GET', '_live=sse&_since=99999999999999', '_since'],
      ['GET', '_live=sse&_wait=3', '_wait'],
      ['GET', '_live=poll', '_since'],
      ['GET', '_live=poll&_since=1&_sort=id', '_sort'],
      ['GET', '_live=poll&_since=1&_limit=1', '_limit'],
      ['GET', '_live=poll&_since=1&_wait=0', '_wait'],
      ['GET', '_live=poll&_since=1&_wait=61', '_wait'],
      ['GET', '_live=poll&_since=1&_wait=1.5', '_wait'],
      ['GET', '_live=poll&_since=1&_wait=%00', '_wait'],
      ['GET', '_wait=3', '_wait'],
      ['GET', '_since=1&_gone=maybe', '_gone'],
      ['HEAD', '_live=sse', '_live'],
      ['DELETE', '_live=sse', '_live'],
      ['POST', '_live=sse', '_live'],
    ])('%s ?%s is 400', async (method, query, parameter) => {
      const { status, body, headers } = await stage.service.request(method, `${records}?${query}`, {
        auth: 'alice',
        ...(method === 'POST' ? { body: { data: { id: 'never' } } } : {}),
      });
      expect(status).toBe(400);
      expect(headers['content-type']).toContain('application/json');
      if (method !== 'HEAD')
        expect(body).toMatchObject({ code: 400, errno: 107, message: expect.stringContaining(parameter) as string });
      const { body: after } = await stage.write('GET', records);
      expect((after as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['x']);
    });

    it('refuses Last-Event-ID that is no timestamp', async () => {
      for (const id of ['"5"', 'abc', '-1', '1.5', '99999999999999', '1'.repeat(400)]) {
        const stream = await stage.follow('', { headers: { 'last-event-id': id } });
        expect(stream, id).toMatchObject({ status: 400, error: { errno: 107 } });
        expect(stream.error.message).toContain('Last-Event-ID');
      }
    });

    it('refuses live updates of objects and in batches', async () => {
      const { status } = await stage.service.request('GET', `${records}/x?_live=sse`, { auth: 'alice' });
      expect(status).toBe(400);
      for (const path of [
        `${records.slice(3)}?_live=sse`,
        `${records.slice(3)}?_live=poll&_since=1`,
        '/live?watch=/buckets',
      ]) {
        const batch = await stage.service.request('POST', '/v1/batch', {
          auth: 'alice',
          body: { requests: [{ path }] },
        });
        expect(batch).toMatchObject({ status: 400, body: { errno: 107 } });
      }
    });
  });
});

describe('limits of streams', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  it('refuses streams and polls beyond the limit of the process until one has ended', async () => {
    stage = await Stage.start(memory, { settings: { live_max_streams: '2' } });
    const first = await stage.follow('');
    await first.until('current');
    const second = await stage.follow('', { auth: 'bob' });
    await second.until('current');
    const refused = await stage.follow('');
    expect(refused).toMatchObject({ status: 503, error: { code: 503, errno: 201 } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const { status } = await stage.service.request('GET', `${records}?_live=poll&_since=${await stage.clock()}`);
    expect(status).toBe(503);
    first.close();
    await expect.poll(async () => (await stage.follow('')).status).toBe(200);
  });

  it('refuses streams beyond the limit of a user, and serves others', async () => {
    stage = await Stage.start(memory, { settings: { live_max_streams_per_user: '2' } });
    for (const _ of [1, 2]) await (await stage.follow('', { auth: 'bob' })).until('current');
    expect((await stage.follow('', { auth: 'bob' })).status).toBe(503);
    expect((await stage.follow('', { auth: 'alice' })).status).toBe(200);
  });

  it('refuses anonymous streams beyond the limit of an address, and serves users and clients behind a proxy', async () => {
    const settings = { live_max_streams_per_address: '2', trusted_proxies: 'loopback' };
    stage = await Stage.start(memory, { settings });
    const from = (address: string): OpenOptions => ({ headers: { 'x-forwarded-for': address } });
    for (const _ of [1, 2]) await (await stage.follow('', from('192.0.2.1'))).until('current');
    expect(await stage.follow('', from('192.0.2.1'))).toMatchObject({ status: 503, error: { errno: 201 } });
    expect((await stage.follow('', { ...from('192.0.2.1'), auth: 'bob' })).status).toBe(200);
    expect((await stage.follow('', from('192.0.2.2'))).status).toBe(200);
    // The proxy itself has no client that could be counted.
    for (const _ of [1, 2, 3]) expect((await stage.follow('')).status).toBe(200);
  });

  it('does not exceed the limit when many streams open at once', async () => {
    stage = await Stage.start(memory, { settings: { live_max_streams: '5' } });
    const streams = await Promise.all(Array.from({ length: 30 }, () => stage.follow('')));
    const open = streams.filter(({ status }) => status === 200);
    const events = await Promise.all(open.map((stream) => stream.next()));
    expect(events.filter(({ event }) => event === 'current')).toHaveLength(5);
    for (const { event, data } of events)
      if (event !== 'current') expect({ event, data }).toMatchObject({ event: 'end', data: { errno: 201 } });
  });

  it('ends streams at their maximum age, and the client goes on where it was', async () => {
    stage = await Stage.start(memory, { settings: { live_max_seconds: '1' } });
    const stream = await stage.follow('');
    const { id } = await stream.until('current');
    expect(await stream.nextOrEnd()).toBeUndefined();
    const timestamp = await stage.put('meanwhile');
    const again = await stage.follow('', { headers: { 'last-event-id': id! } });
    expect(await again.next()).toMatchObject({ event: 'changes', id: String(timestamp) });
  });

  it('ends streams with a time to reconnect when the service stops', async () => {
    stage = await Stage.start(memory);
    const stream = await stage.follow('');
    await stream.until('current');
    const stopped = stage.service.close();
    const end = await stream.next();
    expect(end).toMatchObject({ event: 'end', id: undefined, data: { code: 503, errno: 201 } });
    expect(Number(end.retry)).toBeGreaterThanOrEqual(1000);
    expect(await stream.nextOrEnd()).toBeUndefined();
    await stopped;
    stage = await Stage.start(memory);
  });

  it('switches live updates off', async () => {
    stage = await Stage.start(memory, { settings: { live_max_streams: '0' } });
    expect(await stage.follow('')).toMatchObject({ status: 400, error: { errno: 107 } });
    expect((await stage.service.request('GET', '/v1/live?watch=/buckets', { auth: 'alice' })).status).toBe(404);
    const { body } = await stage.service.request('GET', '/v1/');
    expect((body as { capabilities: object }).capabilities).not.toHaveProperty('live');
  });
});
