// Long polls: an ordinary page of a list, as soon as it has entries.
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { TestResponse } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { forgetting } from '../support/forgetting.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';
import { records, Stage } from './stage.ts';

interface Polls {
  open: number;
  /** Number of those that have begun. */
  opened: number;
}

/** A plugin that counts the long polls which wait. */
function counting(polls: Polls): Plugin {
  return definePlugin({
    name: 'counting',
    setup: () => ({
      observer: {
        observe(observation) {
          if (observation.kind !== 'live' || observation.event === 'sent') return;
          polls.open = observation.open;
          if (observation.event === 'opened') polls.opened++;
        },
      },
    }),
  });
}

forEachBackend((backend) => {
  describe(`long polls on ${backend.name}`, () => {
    let stage: Stage;
    let polls: Polls;
    beforeEach(async () => {
      polls = { open: 0, opened: 0 };
      stage = await Stage.start(backend, { plugins: [forgetting, counting(polls)] });
    });
    afterEach(() => stage.close());

    const poll = (query: string, auth?: string): Promise<TestResponse> =>
      stage.service.request('GET', `${records}?_live=poll&${query}`, auth === undefined ? {} : { auth });

    it('respond at once where something has changed', async () => {
      const before = await stage.put('a');
      const after = await stage.put('b');
      const { status, headers, body } = await poll(`_since=${before}&_wait=60`);
      expect({ status, body }).toEqual({ status: 200, body: { data: [{ id: 'b', last_modified: after }] } });
      expect(headers).toMatchObject({
        etag: `"${after}"`,
        'content-type': expect.stringContaining('application/json') as string,
      });
    });

    it('respond as soon as something changes', async () => {
      const before = await stage.put('a', { n: 1 });
      const waiting = poll(`_since=${encodeURIComponent(`"${before}"`)}&_wait=60`);
      await opened(polls);
      const after = await stage.put('a', { n: 2 });
      const { body, headers } = await waiting;
      expect(body).toEqual({ data: [{ id: 'a', last_modified: after, n: 2 }] });
      expect(headers['etag']).toBe(`"${after}"`);
      const again = poll(`_since=${after}&_wait=60`);
      await opened(polls);
      const deleted = await stage.remove('a');
      expect((await again).body).toEqual({ data: [{ id: 'a', last_modified: deleted, deleted: true }] });
    });

    it('respond with an empty list and the ETag when the time is over', async () => {
      const before = await stage.put('a');
      const { status, body, headers } = await poll(`_since=${before}&_wait=1`);
      expect({ status, body }).toEqual({ status: 200, body: { data: [] } });
      expect(headers).toMatchObject({ etag: `"${before}"`, 'cache-control': 'no-store' });
    });

    it('respond at once where the list is older than the cursor, as after a restore', async () => {
      const before = await stage.put('a');
      const { status, body, headers } = await poll(`_since=${before + 1}&_wait=60`);
      expect({ status, body }).toEqual({ status: 200, body: { data: [] } });
      expect(headers).toMatchObject({ etag: `"${before}"`, 'cache-control': 'no-store' });
    });

    it('wait on through changes that the filter excludes, and show what is gone where asked', async () => {
      const before = await stage.put('a', { status: 'open' });
      const waiting = poll(`_since=${before}&status=open&_wait=60`);
      const marking = poll(`_since=${before}&status=open&_gone=true&_wait=60`);
      await opened(polls, 2);
      const closed = await stage.put('a', { status: 'closed' });
      expect((await marking).body).toEqual({ data: [{ id: 'a', last_modified: closed, gone: true }] });
      const opened2 = await stage.put('b', { status: 'open' });
      expect((await waiting).body).toEqual({ data: [{ id: 'b', last_modified: opened2, status: 'open' }] });
    });

    it('are refused without access, also when it is lost meanwhile', async () => {
      await stage.setReaders('system.Authenticated');
      const before = await stage.put('a');
      expect((await poll(`_since=${before}`)).status).toBe(401);
      const waiting = poll(`_since=${before}&_wait=60`, 'bob');
      await opened(polls);
      await stage.setReaders();
      await stage.put('a', { secret: true });
      const { status, body } = await waiting;
      expect({ status, body }).toMatchObject({ status: 403, body: { errno: 121 } });
    });

    it('report deletions that were forgotten', async () => {
      const before = await stage.put('a');
      await stage.remove('a');
      await stage.write('POST', '/v1/forget?parent=/buckets/b/collections/c');
      const { headers } = await poll(`_since=${before}&_wait=60`);
      expect(headers['resync']).toMatch(/^"\d+"$/);
    });

    it('do not wait behind another one of their connection', async () => {
      const before = await stage.put('a');
      const socket = connect(Number(new URL(stage.service.origin).port), '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      let received = '';
      socket.setEncoding('utf8').on('data', (text: string) => (received += text));
      const request = `GET ${records}?_live=poll&_since=${before}&_wait=60 HTTP/1.1\r\nHost: test\r\n\r\n`;
      socket.write(request.repeat(5));
      await expect.poll(() => polls.opened).toBe(5);
      await opened(polls, 1);
      await stage.put('b');
      await expect.poll(() => received.match(/HTTP\/1.1 200 OK/g)?.length).toBe(5);
      expect(received.match(/"data":\[\{"id":"b"/g)).toHaveLength(1);
      expect(received.match(/"data":\[\]/g)).toHaveLength(4);
    });

    it('end with what is there when the service stops', async () => {
      const before = await stage.put('a');
      const waiting = fetch(`${stage.service.origin}${records}?_live=poll&_since=${before}&_wait=60`);
      await opened(polls);
      const { service } = stage;
      const closing = service.close();
      expect((await waiting).status).toBe(200);
      await closing;
      stage = await Stage.start(backend);
    });
  });
});

/** Waits until the service holds this many polls. */
function opened(polls: Polls, count = 1): Promise<void> {
  return expect.poll(() => polls.open).toBe(count);
}
