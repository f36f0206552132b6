// Listeners by configuration: how they are found, what they hear, and what their errors do.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createService } from '../../src/app/service.ts';
import { silentLogger } from '../../src/contracts/logger.ts';
import { ServiceError } from '../../src/core/errors.ts';
import type { ResourceEvent } from '../../src/engine/events/event.ts';
import type { Listener, ListenerContext } from '../../src/engine/events/listener.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';
import { ModuleFolder } from '../support/modules.ts';
import { RedisProcess, openInspector, requireRedisUrl } from '../support/redis.ts';
import { forEachBackend } from '../support/backends.ts';
import { unreadLines } from '../support/unread-settings.ts';

/** What listeners did, in order. */
let log: string[] = [];
/** The handler of the listener `spy` of the plugin. */
let act: (event: ResourceEvent) => void = () => {};

function spy({ name, parameter }: ListenerContext): Listener {
  return {
    start: () => void log.push(`${name} starts`),
    stop: () => void log.push(`${name} stops`),
    handle(event, scope) {
      log.push(`${name} ${scope === undefined ? 'after' : 'inside'} ${event.action} ${event.kind}`);
      if (parameter('obeys') === 'true') act(event);
    },
  };
}

const plugin = definePlugin({ name: 'spies', setup: () => ({ listeners: { spy } }) });

const ignore = (): void => {};

async function write(service: TestService, record = 'r'): Promise<number[]> {
  const alice = service.asUser('alice');
  const paths = ['/v1/buckets/b', '/v1/buckets/b/collections/c', `/v1/buckets/b/collections/c/records/${record}`];
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await alice.request('PUT', path)).status);
  return statuses;
}

describe('event_listeners', () => {
  const start = (settings: Record<string, string>): Promise<TestService> => {
    log = [];
    act = () => {};
    return startTestService({ plugins: [plugin], settings });
  };

  // Proves S-201, S-202.
  it('starts listeners, sends them all changes inside the transaction, and stops them.', async () => {
    const service = await start({
      event_listeners: 'one two',
      'event_listeners.one.use': 'spy',
      'event_listeners.two.use': 'spy',
    });
    await write(service);
    await service.asUser('alice').request('GET', '/v1/buckets/b');
    await service.close();
    expect(log).toEqual([
      'one starts',
      'two starts',
      ...['bucket', 'collection', 'record'].flatMap((kind) => [
        `one inside create ${kind}`,
        `two inside create ${kind}`,
      ]),
      'two stops',
      'one stops',
    ]);
  });

  // Proves S-201, S-214.
  it('filters by action and kind, including reads.', async () => {
    const service = await start({
      event_listeners: 'some',
      'event_listeners.some.use': 'spy',
      'event_listeners.some.actions': 'read delete',
      'event_listeners.some.resources': 'bucket, record',
    });
    await write(service);
    const alice = service.asUser('alice');
    await alice.request('GET', '/v1/buckets/b');
    await alice.request('GET', '/v1/buckets/b/collections/c');
    await alice.request('DELETE', '/v1/buckets/b/collections/c/records/r');
    await alice.request('DELETE', '/v1/buckets/b/collections/c');
    await service.close();
    expect(log.slice(1, -1)).toEqual(['some inside read bucket', 'some inside delete record']);
  });

  it('calls listeners after the commit when sync is false, and never for uncommitted changes.', async () => {
    const service = await start({
      event_listeners: 'late strict',
      'event_listeners.late.use': 'spy',
      'event_listeners.late.sync': 'false',
      'event_listeners.late.actions': 'create update delete read',
      'event_listeners.strict.use': 'spy',
      'event_listeners.strict.obeys': 'true',
    });
    await write(service);
    expect(log.slice(2)).toEqual(
      ['bucket', 'collection', 'record'].flatMap((kind) => [
        `strict inside create ${kind}`,
        `late after create ${kind}`,
      ]),
    );
    log = [];
    act = () => {
      throw new ServiceError('forbidden', { message: 'not today' });
    };
    const alice = service.asUser('alice');
    expect(await alice.request('DELETE', '/v1/buckets/b')).toMatchObject({
      status: 403,
      body: { message: 'not today' },
    });
    act = () => {
      throw new Error('broken');
    };
    expect(await alice.request('DELETE', '/v1/buckets/b')).toMatchObject({ status: 500 });
    expect(log).toEqual(['strict inside delete bucket', 'strict inside delete bucket']);
    expect(await alice.request('GET', '/v1/buckets/b')).toMatchObject({ status: 200 });
    expect(log.at(-1)).toBe('late after read bucket');
    await service.close();
  });

  // Proves S-215.
  it('can be configured by environment variables alone.', async () => {
    log = [];
    const environment = {
      SVC_USERID_HMAC_SECRET: 'secret for tests',
      SVC_STORAGE_BACKEND: 'memory',
      SVC_PERMISSION_BACKEND: 'memory',
      SVC_CACHE_BACKEND: 'memory',
      SVC_EVENT_LISTENERS: 'audit',
      SVC_EVENT_LISTENERS_AUDIT_USE: 'spy',
      SVC_EVENT_LISTENERS_AUDIT_ACTIONS: 'create',
      SVC_EVENT_LISTENERS_AUDIT_RESOURCES: '["bucket"]',
      SVC_EVENT_LISTENERS_AUDIT_SYNC: 'off',
    };
    const settings = loadSettings({ environment, cwd: '/nowhere', overrides: { http_port: '0' } });
    expect(unreadLines(settings)).toEqual([]);
    const service = await createService({ settings, logger: silentLogger, plugins: [plugin] });
    const { origin } = new URL(await service.listen());
    const headers = { Authorization: authorizationOf('alice') };
    await fetch(`${origin}/v1/buckets/b`, { method: 'PUT', headers });
    await fetch(`${origin}/v1/buckets/b`, { method: 'PATCH', headers, body: '{"data":{}}' });
    await fetch(`${origin}/v1/buckets/b/collections/c`, { method: 'PUT', headers });
    await service.close();
    expect(log).toEqual(['audit starts', 'audit after create bucket', 'audit stops']);
  });

  it.each([
    ['no use at all', {}, /The event listener one could not be created: event_listeners\.one\.use is not set/],
    ['an unknown use', { use: 'spi' }, /listener one could not be created: .*No package spi/],
    [
      'an unknown action',
      { use: 'spy', actions: 'create destroy' },
      /one\.actions names destroy; accepted are create, update/,
    ],
    [
      'an unknown kind',
      { use: 'spy', resources: 'record story' },
      /one\.resources names story; accepted are bucket, group/,
    ],
    ['an odd sync', { use: 'spy', sync: 'maybe' }, /one\.sync = "maybe".*true or false/],
    [
      'an address that is none',
      { use: 'redis', url: 'http://x' },
      /listener one could not be created: url: expected redis:/,
    ],
    ['a timeout that is none', { use: 'redis', pool_timeout: 'long' }, /pool_timeout: expected a number of seconds/],
  ])('Refuses to start with %s.', async (_what, given, message) => {
    const entries = Object.entries(given).map(([key, value]) => [`event_listeners.one.${key}`, value] as const);
    await expect(start({ event_listeners: 'one', ...Object.fromEntries(entries) })).rejects.toThrow(message);
  });

  it('Refuses two listeners of one name.', async () => {
    await expect(start({ event_listeners: 'a.spy b.spy', 'event_listeners.spy.use': 'spy' })).rejects.toThrow(
      'event_listeners names two listeners spy.',
    );
  });

  it('Stops started listeners when another listener cannot be started.', async () => {
    const failing = definePlugin({
      name: 'failing',
      setup: () => ({
        listeners: {
          failing: () => ({
            handle: ignore,
            start() {
              throw new Error('no coffee left');
            },
          }),
        },
      }),
    });
    log = [];
    const settings = {
      event_listeners: 'one two',
      'event_listeners.one.use': 'spy',
      'event_listeners.two.use': 'failing',
    };
    await expect(startTestService({ plugins: [plugin, failing], settings })).rejects.toThrow(
      'The event listener two could not be started: no coffee left',
    );
    expect(log).toEqual(['one starts', 'one stops']);
  });
});

describe('modules as listeners', () => {
  let folder: ModuleFolder;
  beforeAll(async () => {
    folder = await ModuleFolder.enter();
  });
  afterAll(() => folder.remove());

  /** Stores received events in a variable of the process. */
  const listener = `({ name, parameter }) => ({
    handle(event) { (globalThis.heard ??= []).push([name, parameter('color'), event.action, event.kind].join(' ')); },
  })`;
  const heard = (): unknown => Reflect.get(globalThis, 'heard');

  it('are named by use, or by the alias itself, as package or path.', async () => {
    await folder.install('listening-package', `export const createListener = ${listener};`);
    await folder.write('lib/ears.mjs', `export default ${listener};`);
    const service = await startTestService({
      settings: {
        event_listeners: 'one listening-package ./lib/ears.mjs',
        'event_listeners.one.use': './lib/ears.mjs',
        'event_listeners.one.resources': 'bucket',
        'event_listeners.one.color': 'red',
        'event_listeners.listening-package.resources': 'bucket',
        'event_listeners.listening-package.color': 'green',
        'event_listeners.ears.resources': 'bucket',
        'event_listeners.ears.color': 'blue',
      },
    });
    await write(service);
    await service.close();
    expect(heard()).toEqual([
      'one red create bucket',
      'listening-package green create bucket',
      'ears blue create bucket',
    ]);
  });

  it('report missing exports.', async () => {
    await folder.write('lib/deaf.mjs', 'export const something = 1;');
    const settings = { event_listeners: 'one', 'event_listeners.one.use': './lib/deaf.mjs' };
    await expect(startTestService({ settings })).rejects.toThrow(
      'The event listener one could not be created: the module ./lib/deaf.mjs exports no function createListener.',
    );
  });
});

forEachBackend((backend) => {
  it(`A listener that fails undoes the whole batch on ${backend.name}.`, async () => {
    const settings = {
      event_listeners: 'strict late',
      'event_listeners.strict.use': 'spy',
      'event_listeners.strict.obeys': 'true',
      'event_listeners.late.use': 'spy',
      'event_listeners.late.sync': 'false',
    };
    const service = await backend.start({ plugins: [plugin], settings });
    try {
      const bucket = `/buckets/${randomUUID()}`;
      const requests = [bucket, `${bucket}/collections/c`, `${bucket}/groups/g`].map((path) => ({
        method: 'PUT',
        path,
      }));
      log = [];
      act = ({ kind }) => {
        if (kind === 'group') throw new Error('no groups');
      };
      const alice = service.asUser('alice');
      const body = { requests };
      expect(await alice.request('POST', '/v1/batch', { body })).toMatchObject({ status: 500 });
      expect(log.filter((line) => line.startsWith('late'))).toEqual([]);
      act = () => {};
      expect(await alice.request('GET', `/v1${bucket}`)).toMatchObject({ status: 403 });
      expect(await alice.request('POST', '/v1/batch', { body })).toMatchObject({ status: 200 });
      expect(log.filter((line) => line.startsWith('late'))).toHaveLength(3);
    } finally {
      await service.close();
    }
  });
});

describe('the Redis listener', () => {
  // Proves S-216.
  it.each(['redis', 'svc.listeners.redis', 'kinto_redis.listeners', 'kinto.core.listeners.redis'])(
    'pushes payloads to the left end of a list as %s, and none of rolled-back changes.',
    async (use) => {
      const url = requireRedisUrl();
      const name = `queue-${randomUUID()}`;
      const inspector = openInspector(url);
      const service = await startTestService({
        settings: {
          event_listeners: 'queue',
          'event_listeners.queue.use': use,
          'event_listeners.queue.url': url,
          'event_listeners.queue.listname': name,
        },
      });
      try {
        await write(service);
        const alice = service.asUser('alice');
        await alice.request('PUT', '/v1/buckets/b/collections/c/records/r', { headers: { 'If-None-Match': '*' } });
        const pushed = (await inspector.lrange(name, 0, -1)).map((text): unknown => JSON.parse(text));
        expect(pushed).toMatchObject([
          { action: 'create', resource_name: 'record', bucket_id: 'b', collection_id: 'c', record_id: 'r' },
          { action: 'create', resource_name: 'collection', uri: '/buckets/b/collections/c' },
          {
            action: 'create',
            resource_name: 'bucket',
            uri: '/buckets/b',
            user_id: expect.stringMatching(/^basicauth:/),
          },
        ]);
        await inspector.del(name);
      } finally {
        await service.close();
        inspector.disconnect();
      }
    },
  );

  it('lets writes succeed while its server is unreachable, logs the failure, and reconnects.', async () => {
    const server = await RedisProcess.start();
    const errors: unknown[] = [];
    const service = await startTestService({
      logger: { ...silentLogger, error: (...given: readonly unknown[]) => void errors.push(given) },
      settings: {
        event_listeners: 'queue',
        'event_listeners.queue.use': 'redis',
        'event_listeners.queue.url': server.url,
        'event_listeners.queue.pool_timeout': '0.5',
      },
    });
    try {
      await server.kill();
      expect(await write(service)).toEqual([201, 201, 201]);
      expect(errors).toHaveLength(3);
      expect(errors[0]).toMatchObject([{ listener: 'queue' }, 'An event could not be pushed to Redis']);
      await server.start();
      const inspector = openInspector(server.url);
      // The client may still be waiting before it connects again.
      for (let n = 0; (await inspector.llen('svc.events')) === 0; n++) await write(service, `x${n}`);
      inspector.disconnect();
    } finally {
      await service.close();
      await server.remove();
    }
  });
});
