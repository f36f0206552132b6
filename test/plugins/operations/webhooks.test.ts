// Failed deliveries of webhooks: listed, retried and deleted by operators, on every backend.
import { afterEach, describe, expect, test } from 'vitest';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { forEachBackend } from '../../support/backends.ts';
import { Receiver } from '../../support/webhook-receiver.ts';
import type { TestBackend } from '../../../src/testing/index.ts';
import { operate, type Operated } from './operators.ts';

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.close();
});

interface Failure {
  readonly id: string;
  readonly attempts: number;
  readonly reason: string;
  readonly event: { readonly action: string; readonly uri: string };
}

async function start(backend: Pick<TestBackend, 'start'>): Promise<{ service: Operated; receiver: Receiver }> {
  const receiver = await Receiver.start();
  running.push(receiver);
  const given = {
    use: 'webhook',
    url: receiver.url,
    secret: 'a-secret-of-sixteen-bytes-or-more',
    max_attempts: '1',
    timeout: '500ms',
    lease: '2s',
    poll: '3600s',
  };
  const entries = Object.entries(given).map(([key, value]) => [`event_listeners.hook.${key}`, value] as const);
  const service = await operate(backend, { settings: { event_listeners: 'hook', ...Object.fromEntries(entries) } });
  running.push(service);
  return { service, receiver };
}

const failuresOf = async (service: Operated, query = ''): Promise<readonly Failure[]> =>
  (await service.read(`webhooks/hook/failures${query}`)).data;

async function countsOf(service: Operated): Promise<{ readonly pending: number; readonly failed: number }> {
  const [counts] = (await service.read('webhooks')).data as readonly { pending: number; failed: number }[];
  return { pending: counts!.pending, failed: counts!.failed };
}

async function until(service: Operated, counts: { readonly pending: number; readonly failed: number }): Promise<void> {
  for (;;) {
    const now = await countsOf(service);
    if (now.pending === counts.pending && now.failed === counts.failed) return;
    await nextTurn();
  }
}

/** Creates failures: one of the bucket, one of each of two collections. */
async function fail({ service, receiver }: Awaited<ReturnType<typeof start>>): Promise<void> {
  receiver.answer = (): number => 500;
  const ann = service.asUser('ann');
  await ann.request('PUT', '/v1/buckets/b', { body: { data: { password: 'hunter2' } } });
  await ann.request('PUT', '/v1/buckets/b/collections/c');
  await ann.request('PUT', '/v1/buckets/b/collections/d');
  await until(service, { pending: 0, failed: 3 });
}

forEachBackend((backend) => {
  describe(`Failed deliveries on ${backend.name}`, () => {
    test('are listed in pages without the objects.', { timeout: 60_000 }, async () => {
      const setup = await start(backend);
      const { service } = setup;
      await fail(setup);
      const all = await failuresOf(service);
      expect(all).toMatchObject([
        { attempts: 1, event: { action: 'create', uri: '/buckets/b' } },
        { attempts: 1, event: { action: 'create', uri: '/buckets/b/collections/d' } },
        { attempts: 1, event: { action: 'create', uri: '/buckets/b/collections/c' } },
      ]);
      expect(all[0]!.reason).toContain('500');
      expect(JSON.stringify(all)).not.toContain('hunter2');
      const seen: string[] = [];
      let path = '/v1/operations/webhooks/hook/failures?_limit=1';
      while (path !== '') {
        const { body, headers } = await service.reader.request('GET', path);
        seen.push(...(body as { readonly data: readonly Failure[] }).data.map(({ id }) => id));
        path = headers['next-page']?.slice(service.origin.length) ?? '';
      }
      expect(seen).toEqual(all.map(({ id }) => id));
    });

    test('are retried one by one and all together, and delivered at once.', { timeout: 60_000 }, async () => {
      const setup = await start(backend);
      const { service, receiver } = setup;
      await fail(setup);
      const [first] = await failuresOf(service);
      const write = (method: string, path: string): Promise<unknown> =>
        service.writer
          .request(method, `/v1/operations/webhooks/hook/${path}`)
          .then(({ status, body }) => ({ status, body }));
      const done = (count: number): object => ({ status: 200, body: { data: { count, more: false } } });

      // It fails again, as a delivery with attempts of its own.
      expect(await write('POST', `failures/${first!.id}/retry`)).toEqual(done(1));
      await until(service, { pending: 0, failed: 3 });
      expect(receiver.deliveries).toHaveLength(4);

      receiver.answer = (): number => 204;
      expect(await write('POST', 'retry')).toEqual(done(3));
      await until(service, { pending: 0, failed: 0 });
      expect(receiver.deliveries).toHaveLength(7);
      expect(await write('POST', `failures/${first!.id}/retry`)).toMatchObject({ status: 404 });
      expect(await write('POST', 'retry')).toEqual(done(0));
    });

    test('are deleted one by one and all together.', { timeout: 60_000 }, async () => {
      const setup = await start(backend);
      const { service, receiver } = setup;
      await fail(setup);
      const [first] = await failuresOf(service);
      const path = '/v1/operations/webhooks/hook/failures';
      const one = await service.writer.request('DELETE', `${path}/${first!.id}`);
      expect(one.body).toEqual({ data: { count: 1, more: false } });
      expect(await countsOf(service)).toEqual({ pending: 0, failed: 2 });
      const rest = await service.writer.request('DELETE', path);
      expect(rest.body).toEqual({ data: { count: 2, more: false } });
      expect(await countsOf(service)).toEqual({ pending: 0, failed: 0 });
      expect(receiver.deliveries).toHaveLength(3);
    });
  });
});
