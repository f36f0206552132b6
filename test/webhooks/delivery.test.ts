// Webhooks end to end: a service on each backend, and a receiver that accepts, refuses, hangs or is down.
import { createHmac, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../src/contracts/logger.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { definePlugin, type PluginHost } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { freePort } from '../support/redis.ts';
import { Receiver, type Delivery } from '../support/webhook-receiver.ts';
import { startTestService, type TestBackend } from '../../src/testing/index.ts';

const secret = 'a-secret-of-sixteen-bytes-or-more';
const quick = { retry_min: '10ms', retry_max: '40ms', timeout: '500ms', lease: '2s', poll: '20s' };

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.close();
});

/** Plugin host of the last service, for access to its storage. */
let host: PluginHost;
let veto: (() => void) | undefined;
const looking = definePlugin({
  name: 'looking',
  setup(given) {
    host = given;
    return {
      kinds: [
        { name: 'login', path: '/logins', flavour: 'user', idGenerator: 'RelaxedUUID', hiddenFields: ['password'] },
      ],
      subscribers: [{ name: 'veto', on: 'ResourceChanged', kinds: ['group'], handle: () => veto?.() }],
    };
  },
});

const logged: { readonly level: string; readonly fields: Record<string, unknown>; readonly message: string }[] = [];
const logTo =
  (level: string) =>
  (fields: object | string, message = ''): void => {
    if (typeof fields === 'object') logged.push({ level, fields: { ...fields }, message });
    else logged.push({ level, fields: {}, message: fields });
  };
const logger: Logger = { debug: logTo('debug'), info: logTo('info'), warn: logTo('warn'), error: logTo('error') };

/** Returns log lines about deliveries. */
const told = (): typeof logged => logged.filter(({ fields }) => fields['delivery'] !== undefined);

interface Setup {
  readonly service: TestService;
  readonly receiver: Receiver;
  readonly alice: TestClient;
  readonly bucket: string;
}

async function startReceiver(port = 0): Promise<Receiver> {
  const receiver = await Receiver.start(port);
  running.push(receiver);
  return receiver;
}

async function start(
  backend: Pick<TestBackend, 'start'>,
  parameters: Record<string, string> = {},
  receiver?: Receiver,
): Promise<Setup> {
  logged.length = 0;
  veto = undefined;
  const target = receiver ?? (await startReceiver());
  const given = { use: 'webhook', url: target.url, secret, ...quick, ...parameters };
  const entries = Object.entries(given).map(([key, value]) => [`event_listeners.hook.${key}`, value] as const);
  const settings = { event_listeners: 'hook', ...Object.fromEntries(entries) };
  const service = await backend.start({ settings, plugins: [looking], logger });
  running.push(service);
  return { service, receiver: target, alice: service.asUser('alice'), bucket: `/buckets/${randomUUID()}` };
}

const memory = { start: startTestService };

/** Returns stored deliveries of the webhook: pending and dead letters. */
async function left(): Promise<readonly [pending: number, dead: number]> {
  const { reader } = host.stores.storage;
  const count = async (kind: string): Promise<number> => {
    let sum = 0;
    for (const parent of await reader.listParents(kind)) {
      sum += await reader.countAll({ kind, parent }, { filters: [], includeDeleted: true });
    }
    return sum;
  };
  return [await count('__webhook__hook'), await count('__webhook_dead__hook')];
}

/** Resolves when no delivery is pending. */
async function emptied(): Promise<void> {
  while ((await left())[0] > 0) await nextTurn();
}

function isSignedBy(key: string, { id, headers, body }: Delivery): boolean {
  const signed = createHmac('sha256', key)
    .update(`${id}.${String(headers['webhook-timestamp'])}.${body}`)
    .digest('base64');
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signed}`);
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);

function switchProtocol({ socket }: ServerResponse): void {
  socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
}

const records = ({ json }: Delivery): unknown[] =>
  json.impacted_objects.map((impact) => (impact['new'] as { id: string }).id);

forEachBackend((backend) => {
  describe(`webhooks on ${backend.name}`, () => {
    it('deliver each change once, signed, with payload and objects, in the order of its list.', async () => {
      const before = Date.now();
      const { receiver, alice, bucket } = await start(backend);
      await alice.request('PUT', `/v1${bucket}`, { body: { data: { a: 1 } } });
      await alice.request('PATCH', `/v1${bucket}`, { body: { data: { a: 2 } } });
      await alice.request('DELETE', `/v1${bucket}`);
      const deliveries = await receiver.received(3);
      const id = bucket.slice('/buckets/'.length);
      expect(deliveries.map(({ json }) => json)).toMatchObject([
        { payload: { action: 'create', uri: bucket, bucket_id: id }, impacted_objects: [{ new: { id, a: 1 } }] },
        { payload: { action: 'update' }, impacted_objects: [{ new: { id, a: 2 }, old: { id, a: 1 } }] },
        { payload: { action: 'delete' }, impacted_objects: [{ new: { id, deleted: true }, old: { a: 2 } }] },
      ]);
      expect(deliveries.every((delivery) => isSignedBy(secret, delivery))).toBe(true);
      expect(isSignedBy('another secret', deliveries[0]!)).toBe(false);
      expect(new Set(deliveries.map((delivery) => delivery.id)).size).toBe(3);
      const [{ headers } = deliveries[0]!] = deliveries;
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Coffer-Webhooks' });
      const sent = Number(headers['webhook-timestamp']);
      expect(sent).toBeGreaterThanOrEqual(Math.floor(before / 1000));
      expect(sent).toBeLessThanOrEqual(Date.now() / 1000);
      await emptied();
      expect(await left()).toEqual([0, 0]);
    });

    it('retry a failed delivery with the same id until it is accepted, and delay the following ones.', async () => {
      const { receiver, alice, bucket } = await start(backend);
      receiver.answer = (_delivery, index) => (index < 3 ? 500 : 200);
      await alice.request('PUT', `/v1${bucket}`);
      await alice.request('PATCH', `/v1${bucket}`, { body: { data: { a: 2 } } });
      const deliveries = await receiver.received(5);
      expect(deliveries.map(({ json }) => json.payload['action'])).toEqual(
        'create create create create update'.split(' '),
      );
      expect(new Set(deliveries.map(({ id }) => id)).size).toBe(2);
      expect(deliveries.every((delivery) => isSignedBy(secret, delivery))).toBe(true);
      await emptied();
      expect(receiver.deliveries).toHaveLength(5);
      expect(told()).toMatchObject([
        { fields: { listener: 'hook', attempts: 1, reason: 'the receiver answered 500' } },
        { fields: { attempts: 2 } },
        { fields: { attempts: 3 } },
      ]);
    });

    it('deliver nothing of a request that is rolled back.', async () => {
      const { receiver, alice, bucket } = await start(backend);
      veto = () => {
        throw new ServiceError('forbidden');
      };
      const requests = [bucket, `${bucket}/groups/g`].map((path) => ({ method: 'PUT', path }));
      expect(await alice.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({ status: 403 });
      expect(await left()).toEqual([0, 0]);
      veto = undefined;
      await alice.request('POST', '/v1/batch', { body: { requests } });
      const deliveries = await receiver.received(2);
      expect(deliveries.map(({ json }) => String(json.payload['resource_name'])).toSorted(byText)).toEqual([
        'bucket',
        'group',
      ]);
    });

    it('deliver earlier changes below a deleted bucket.', async () => {
      const { receiver, alice, bucket } = await start(backend);
      let isAway = true;
      receiver.answer = () => (isAway ? 503 : 200);
      await alice.request('PUT', `/v1${bucket}`);
      await alice.request('PUT', `/v1${bucket}/collections/c`);
      await alice.request('PUT', `/v1${bucket}/collections/c/records/r`);
      await alice.request('DELETE', `/v1${bucket}`);
      isAway = false;
      await emptied();
      const taken = new Map(receiver.deliveries.map(({ id, json }) => [id, json.payload]));
      expect(
        [...taken.values()].map(({ action, resource_name: kind }) => `${String(action)} ${String(kind)}`).toSorted(),
      ).toEqual(['create bucket', 'create collection', 'create record', 'delete bucket']);
    });

    it('store, count and log a delivery that is given up, and continue with the following ones.', async () => {
      const { receiver, alice, bucket } = await start(backend, { max_attempts: '2', max_dead_letters: '1' });
      receiver.answer = ({ json }) => (json.payload['action'] === 'create' ? 400 : 200);
      await alice.request('PUT', `/v1${bucket}`);
      await alice.request('PUT', `/v1${bucket}x`);
      await alice.request('PATCH', `/v1${bucket}`, { body: { data: { a: 2 } } });
      await emptied();
      expect(receiver.deliveries.map(({ json }) => json.payload['action'])).toEqual(
        'create create create create update'.split(' '),
      );
      expect(await left()).toEqual([0, 1]);
      expect(told().filter(({ level }) => level === 'error')).toMatchObject([
        { fields: { attempts: 2, deadLetters: 1 }, message: 'A webhook delivery was given up' },
        { fields: { attempts: 2, deadLetters: 1 } },
      ]);
    });
  });
});

describe('webhooks', () => {
  it('retry a receiver that exceeds the timeout.', async () => {
    const { receiver, alice, bucket } = await start(memory, { timeout: '50ms' });
    receiver.answer = (_delivery, index) => (index === 0 ? 'hang' : 200);
    await alice.request('PUT', `/v1${bucket}`);
    const [first, second] = await receiver.received(2);
    expect(second!.id).toBe(first!.id);
    await emptied();
    expect(told()).toMatchObject([{ level: 'warn', fields: { reason: 'no response within 50 ms' } }]);
  });

  it('stop reading an endless response.', async () => {
    const { receiver, alice, bucket } = await start(memory);
    receiver.answer = () => (response) => {
      response.writeHead(200);
      const flood = (): void => {
        while (response.write(Buffer.alloc(65_536)));
        response.once('drain', flood);
      };
      flood();
    };
    await alice.request('PUT', `/v1${bucket}`);
    await receiver.received(1);
    await emptied();
    expect(receiver.deliveries).toHaveLength(1);
  });

  it('do not follow redirects.', async () => {
    const elsewhere = await startReceiver();
    const { receiver, alice, bucket } = await start(memory, { max_attempts: '2' });
    receiver.answer = () => (response) => void response.writeHead(307, { Location: elsewhere.url }).end();
    await alice.request('PUT', `/v1${bucket}`);
    await emptied();
    expect([receiver.deliveries.length, elsewhere.deliveries.length]).toEqual([2, 0]);
  });

  it('respect Retry-After of the receiver.', async () => {
    const { receiver, alice, bucket } = await start(memory, { retry_max: '5s' });
    receiver.answer = (_delivery, index) => {
      if (index > 0) return 200;
      return (response) => void response.writeHead(429, { 'Retry-After': '1' }).end();
    };
    const before = Date.now();
    await alice.request('PUT', `/v1${bucket}`);
    await receiver.received(2);
    expect(Date.now() - before).toBeGreaterThanOrEqual(990);
  });

  it('deliver everything when a receiver is up again.', async () => {
    const port = await freePort();
    const { alice, bucket } = await start(memory, { url: `http://127.0.0.1:${port}/hook` });
    await alice.request('PUT', `/v1${bucket}`);
    await alice.request('PATCH', `/v1${bucket}`, { body: { data: { a: 1 } } });
    const receiver = await startReceiver(port);
    const deliveries = await receiver.received(2);
    expect(deliveries.map(({ json }) => json.payload['action'])).toEqual(['create', 'update']);
    expect(told()[0]).toMatchObject({ fields: { reason: expect.stringContaining('ECONNREFUSED') } });
  });

  it('fail an attempt whose receiver switches to another protocol, and retry it.', async () => {
    const { receiver, alice, bucket } = await start(memory);
    receiver.answer = (_delivery, index) => (index < 5 ? switchProtocol : 200);
    await alice.request('PUT', `/v1${bucket}`);
    await receiver.received(6);
    await emptied();
    expect(await left()).toEqual([0, 0]);
    expect(told()[0]).toMatchObject({ fields: { reason: 'the connection ended without a response' } });
  });

  it('wait for running deliveries at a stop, and abort them after a timeout without counting an attempt.', async () => {
    const { service, receiver, alice, bucket } = await start(memory, { timeout: '10s', lease: '30s' });
    let release = (): void => {};
    receiver.answer = () => (response) => {
      release = () => void response.writeHead(200).end();
    };
    await alice.request('PUT', `/v1${bucket}`);
    await receiver.received(1);
    const closed = service.close();
    running.pop();
    setImmediate(() => release());
    await closed;
    expect(await left()).toEqual([0, 0]);
  });

  it('split a large event into several deliveries, and truncate an object that is too large.', async () => {
    const { receiver, alice, bucket } = await start(memory, { max_body_size: '2000' });
    await alice.request('PUT', `/v1${bucket}`);
    await alice.request('PUT', `/v1${bucket}/collections/c`);
    const body = (n: number): unknown => ({ data: { text: 'é'.repeat(n) } });
    const requests = [300, 300, 300, 3000, 300].map((n, index) => ({
      method: 'PUT',
      path: `${bucket}/collections/c/records/r${index}`,
      body: body(n),
    }));
    await alice.request('POST', '/v1/batch', { body: { requests } });
    await receiver.received(4);
    await emptied();
    const sent = receiver.deliveries.filter(({ json }) => json.payload['resource_name'] === 'record');
    expect(sent.every((delivery) => Buffer.byteLength(delivery.body) <= 2000)).toBe(true);
    expect(sent.flatMap(records)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4']);
    const cut = sent.filter(({ json }) => json.truncated === true);
    expect(cut).toHaveLength(1);
    expect(cut[0]!.json.impacted_objects.find((impact) => (impact['new'] as { id: string }).id === 'r3')).toEqual({
      new: { id: 'r3', last_modified: expect.any(Number) },
    });
  });

  it('keep all digits of numbers.', async () => {
    const { receiver, alice, bucket } = await start(memory);
    const headers = { 'Content-Type': 'application/json' };
    await alice.request('PUT', `/v1${bucket}`, { raw: '{"data":{"n":12345678901234567890,"__proto__":1}}', headers });
    const [delivery] = await receiver.received(1);
    expect(delivery!.body).toContain('"n":12345678901234567890,"__proto__":1');
  });

  it('omit hidden attributes for all actions.', async () => {
    const { receiver, alice } = await start(memory, { actions: 'create update delete read' });
    const body = { data: { name: 'x', password: 'hush' } };
    await alice.request('PUT', '/v1/logins/a', { body });
    await alice.request('PATCH', '/v1/logins/a', { body: { data: { name: 'y' } } });
    await alice.request('GET', '/v1/logins/a');
    await alice.request('DELETE', '/v1/logins/a');
    const deliveries = await receiver.received(4);
    expect(deliveries.map(({ json }) => json.payload['action'])).toEqual(['create', 'update', 'read', 'delete']);
    expect(deliveries[1]!.json.impacted_objects).toMatchObject([{ new: { name: 'y' }, old: { name: 'x' } }]);
    expect(deliveries.map((delivery) => delivery.body).join('')).not.toMatch(/password|hush/);
  });

  it('deliver reads if configured, with the objects.', async () => {
    const { receiver, alice, bucket } = await start(memory, { actions: 'read' });
    await alice.request('PUT', `/v1${bucket}`, { body: { data: { a: 1 } } });
    await alice.request('GET', `/v1${bucket}`);
    const [{ json } = { json: {} }] = await receiver.received(1);
    expect(json).toMatchObject({ payload: { action: 'read' }, read_objects: [{ a: 1 }] });
  });

  it('sign with every secret, so that secrets can be rotated.', async () => {
    const key = Buffer.from('0123456789abcdef0123456789abcdef');
    const given = `whsec_${key.toString('base64')} an-older-secret-of-some-length`;
    const { receiver, alice, bucket } = await start(memory, { secret: given });
    await alice.request('PUT', `/v1${bucket}`);
    const [delivery] = await receiver.received(1);
    expect(isSignedBy(key.toString(), delivery!)).toBe(true);
    expect(isSignedBy('an-older-secret-of-some-length', delivery!)).toBe(true);
  });

  it('do not connect to a name with a private address unless allowed.', async () => {
    const receiver = await startReceiver();
    const named = `http://localhost:${receiver.port}/hook`;
    const refused = await start(memory, { url: named, allow_private: 'false', max_attempts: '1' }, receiver);
    await refused.alice.request('PUT', `/v1${refused.bucket}`);
    await emptied();
    expect(receiver.deliveries).toEqual([]);
    expect(told()).toMatchObject([{ level: 'error', fields: { reason: expect.stringContaining('allow_private') } }]);
    const allowed = await start(memory, { url: named }, receiver);
    await allowed.alice.request('PUT', `/v1${allowed.bucket}`);
    await receiver.received(1);
  });

  it.each([
    [{ url: '' }, 'url: must be set'],
    [{ url: 'ftp://example.org' }, 'url: expected a URL that starts with http'],
    [{ secret: '' }, 'secret: must be set'],
    [{ secret: 'short' }, 'secret: expected at least 16 bytes'],
    [{ timeout: 'long', concurrency: '0' }, /timeout: expected.*; concurrency: expected/],
    [{ timeout: '10s', lease: '5s' }, 'lease: must be longer than timeout'],
    [{ sync: 'false' }, 'sync: is not supported for webhooks'],
    [{ url: 'http://169.254.169.254/latest' }, 'url: 169.254.169.254 is not an address'],
    [{ url: 'http://127.0.0.1/', allow_private: 'false' }, 'url: 127.0.0.1 is not an address'],
  ])('do not start with %o.', async (parameters, message) => {
    await expect(start(memory, parameters)).rejects.toThrow(message);
  });

  it('deliver nothing and log a warning on a read-only service.', async () => {
    await start(memory, {}, await startReceiver()).then(({ service }) => service.close());
    running.pop();
    const readonly: typeof memory = {
      start: (options) => startTestService({ ...options, settings: { ...options?.settings, readonly: 'true' } }),
    };
    await start(readonly);
    expect(logged.map(({ message }) => message).join()).toContain('delivers no webhooks');
  });
});
