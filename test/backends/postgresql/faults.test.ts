// Responses when the server restarts, dies, hangs or has no free connection: refusals in bounded time, and normal service
// once it is back, without a restart of the service.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';
import type { ConnectionOptions } from '../../../src/backends/postgresql/connection-pool.ts';
import { smallListSource } from '../../../src/backends/postgresql/small-lists.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { migrateDatabase, runSql } from '../../support/postgresql-setup.ts';
import { PostgresServer } from '../../support/postgresql-server.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { openCache, openPostgres, type OpenPostgres } from '../../support/postgresql.ts';

const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const endSessions = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()';

let server: PostgresServer;
let url: string;

beforeAll(async () => {
  server = await PostgresServer.create();
  url = server.url('postgres');
  await migrateDatabase(url);
});
afterAll(() => server.remove());

function open(options: Partial<ConnectionOptions> = {}): OpenPostgres {
  const backends = openPostgres(systemClock, { url, timeoutSeconds: 5, ...options });
  onTestFinished(() => backends.database.close());
  return backends;
}

async function write({ database, storage }: OpenPostgres, id: string): Promise<void> {
  await inUnit(database, (transaction) => storage.writer(transaction).update(list, id, '{}'));
}

/** Resolves when the promise has failed because of the backend. The time limit is that of the test. */
async function expectRefusal(promise: Promise<unknown>): Promise<void> {
  await expect(promise).rejects.toBeInstanceOf(BackendUnavailable);
}

describe('sessions that the server has ended', () => {
  test('do not fail reads outside of a unit of work', async () => {
    const backends = open();
    await write(backends, 'x');
    await Promise.all([1, 2, 3].map(() => backends.storage.reader.get(list, 'x')));
    await runSql(url, endSessions);
    const found = await Promise.all([1, 2, 3].map(() => backends.storage.reader.get(list, 'x')));
    expect(found.map((object) => object?.id)).toEqual(['x', 'x', 'x']);
  });

  test('end a unit of work with a conflict, and nothing of it is stored', async () => {
    const backends = open();
    const unit = await backends.database.begin();
    await backends.storage.writer(unit).create(list, 'lost', '{}');
    await backends.storage.writer(unit).get(list, 'elsewhere');
    await runSql(url, endSessions);
    await expect(backends.storage.writer(unit).get(list, 'anywhere')).rejects.toBeInstanceOf(TransactionConflict);
    await unit.rollback();
    expect(await backends.storage.reader.get(list, 'lost')).toBeUndefined();
    await write(backends, 'x');
  });

  test('fail a commit', async () => {
    const backends = open();
    const unit = await backends.database.begin();
    await backends.storage.writer(unit).create(list, 'uncommitted', '{}');
    await backends.storage.writer(unit).get(list, 'elsewhere');
    await runSql(url, endSessions);
    await expect(unit.commit()).rejects.toBeInstanceOf(Error);
    expect(await backends.storage.reader.get(list, 'uncommitted')).toBeUndefined();
  });
});

describe('a server that was started again', () => {
  test('has other versions of lists, because a successor may lack their last changes and repeat their numbers', async () => {
    const backends = open();
    await write(backends, 'x');
    const source = smallListSource(backends.database.committed('storage'), list);
    const before = await source.readVersion();
    expect(await source.readVersion()).toEqual(before);
    await server.stop();
    await server.start();
    const after = await source.readVersion();
    expect(after).toEqual({ ...before, version: expect.not.stringContaining(before!.version) });
    expect((await source.readContents())?.version).toBe(after!.version);
  });
});

describe('a session that ends as soon as it has begun', () => {
  test('is a refusal, and does not end the process.', async () => {
    // One packet: welcome, ready, and the end. Between them the driver returns the connection.
    const message = (type: string, body: string): string =>
      `${type}${String.fromCodePoint(0, 0, 0, body.length + 4)}${body}`;
    const farewell = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0';
    const piece = message('R', '\0\0\0\0') + message('Z', 'I') + message('E', farewell);
    const impostor = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(Buffer.from(piece, 'latin1')));
    }).listen(0, '127.0.0.1');
    await once(impostor, 'listening');
    const { port } = impostor.address() as AddressInfo;
    const backends = open({ url: `postgresql://coffer@127.0.0.1:${port}/x` });
    await expectRefusal(backends.storage.reader.get(list, 'x'));
    await expect(write(backends, 'x')).rejects.toBeInstanceOf(Error);
    impostor.close();
  });
});

describe('a server that is down', () => {
  test('is reported at once, and used again when it is back', async () => {
    const backends = open();
    const cache = openCache(systemClock, { url });
    onTestFinished(() => cache.close());
    for (const end of ['stop', 'kill'] as const) {
      await write(backends, 'x');
      await cache.set('key', 1, 60);
      await server[end]();
      await expectRefusal(backends.storage.reader.get(list, 'x'));
      await expectRefusal(write(backends, 'x'));
      await expectRefusal(cache.get('key'));
      await server.start();
      expect((await backends.storage.reader.get(list, 'x'))?.id).toBe('x');
      await write(backends, 'y');
      await cache.set('key', 2, 60);
    }
  });
});

describe('a server that hangs', () => {
  test('fails every call in bounded time', { timeout: 40_000 }, async () => {
    const backends = open({ statementTimeoutSeconds: 0.5, timeoutSeconds: 1.5 });
    await write(backends, 'x');
    const unit = await backends.database.begin();
    await backends.storage.writer(unit).lock(list, 'x');
    server.freeze();
    try {
      const attempts = [
        backends.storage.reader.get(list, 'x'),
        backends.storage.reader.get(list, 'y'),
        write(backends, 'z'),
        backends.storage.writer(unit).get(list, 'elsewhere'),
      ];
      await Promise.all(attempts.map(expectRefusal));
      await unit.rollback();
    } finally {
      server.thaw();
    }
    expect((await backends.storage.reader.get(list, 'x'))?.id).toBe('x');
    await write(backends, 'z');
  });

  // Proves S-230, S-233, S-237.
  test('is a 503 with Retry-After, and works again when it responds', { timeout: 40_000 }, async () => {
    const settings = {
      ...postgresqlSettings(url),
      postgresql_statement_timeout_seconds: '0.5',
      storage_pool_timeout: '1.5',
    };
    const service = await startTestService({ settings });
    onTestFinished(() => service.close());
    const user = service.asUser('alice');
    expect((await user.request('PUT', '/v1/buckets/frozen')).status).toBeLessThan(300);
    server.freeze();
    try {
      const answers = await Promise.all([
        user.request('GET', '/v1/buckets/frozen'),
        user.request('PUT', '/v1/buckets/frozen', { body: { data: { n: 1 } } }),
        user.request('GET', '/v1/buckets'),
      ]);
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '3' }, body: { errno: 201 } });
        expect(answer.text).not.toContain('127.0.0.1');
      }
    } finally {
      server.thaw();
    }
    expect((await user.request('PUT', '/v1/buckets/frozen', { body: { data: { n: 2 } } })).status).toBe(200);
  });
});

describe('a network that falls silent', () => {
  test('is detected once, and not again on each of the old connections.', async () => {
    const network = await TcpProxy.to(server.port);
    onTestFinished(() => network.close());
    const through = new URL(url);
    through.port = String(network.port);
    const backends = open({ url: through.href, size: 6, statementTimeoutSeconds: 0.5, timeoutSeconds: 5 });
    const units = await Promise.all(Array.from({ length: 5 }, () => backends.database.begin()));
    await Promise.all(units.map((unit) => backends.storage.writer(unit).get(list, 'x')));
    await Promise.all(units.map((unit) => unit.rollback()));
    network.fallSilent();
    network.mend();
    await expectRefusal(write(backends, 'x'));
    // A write over one of the old connections would fail, because no response ever arrives on it.
    for (const id of ['x', 'y', 'z']) await write(backends, id);
  });

  test('delays a unit of work by one statement at most, although it must be rolled back.', async () => {
    const network = await TcpProxy.to(server.port);
    onTestFinished(() => network.close());
    const through = new URL(url);
    through.port = String(network.port);
    const backends = open({ url: through.href, statementTimeoutSeconds: 0.5 });
    const unit = await backends.database.begin();
    await backends.storage.writer(unit).get(list, 'x');
    network.fallSilent();
    await expectRefusal(backends.storage.writer(unit).get(list, 'y'));
    await unit.rollback();
  });
});

describe('the connections', () => {
  // Proves S-241.
  test('are never all taken by units of work, which may need the cache too', async () => {
    const options = { url, size: 1, maxOverflow: 0, timeoutSeconds: 5 };
    const backends = open(options);
    const cache = openCache(systemClock, options);
    onTestFinished(() => cache.close());
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        inUnit(backends.database, async (transaction) => {
          await backends.storage.writer(transaction).update(list, `u${n}`, '{}');
          await cache.set(`u${n}`, n, 60);
          await backends.storage.reader.get(list, `u${n}`);
        }),
      ),
    );
    expect(await cache.get('u7')).toBe(7);
  });

  // Proves S-243.
  test('are refused when none becomes free in time, and the next caller gets one', async () => {
    const backends = open({ size: 1, maxOverflow: 1, timeoutSeconds: 0.3 });
    const unit = await backends.database.begin();
    await expectRefusal(backends.database.begin());
    await unit.rollback();
    await write(backends, 'x');
  });

  test('are refused at once to callers beyond the backlog', async () => {
    const backends = open({ size: 1, maxOverflow: 1, maxBacklog: 1 });
    const unit = await backends.database.begin();
    const patient = backends.database.begin();
    // If it waited, the earlier callers would have timed out too by then.
    await expectRefusal(backends.database.begin());
    await unit.rollback();
    await (await patient).rollback();
  });
});

describe('a lock that is not granted', () => {
  test('is waited for in the order of lists, and is otherwise a conflict with the names of the lists', async () => {
    const backends = open();
    const [early, late] = ['/buckets/a', '/buckets/b'].map((uri) => ({ kind: 'record', parent: storedUri(uri) }));
    for (const each of [early!, late!]) {
      await inUnit(backends.database, (transaction) => backends.storage.writer(transaction).update(each, 'x', '{}'));
    }
    const first = await backends.database.begin();
    const second = await backends.database.begin();
    await backends.storage.writer(first).lock(early!, 'x');
    await backends.storage.writer(second).lock(late!, 'x');
    const waiting = backends.storage.writer(first).lock(late!, 'x');
    const loser = backends.storage.writer(second).lock(early!, 'x');
    await expect(loser).rejects.toMatchObject({ name: 'TransactionConflict', lists: [late, early] });
    await second.rollback();
    expect((await waiting).object?.id).toBe('x');
    await first.commit();
  });

  test('is a refusal in bounded time, and leaves the connection usable', async () => {
    const backends = open({ lockTimeoutSeconds: 0.3 });
    const first = await backends.database.begin();
    await backends.storage.writer(first).lock(list, 'x');
    await expectRefusal(write(backends, 'x'));
    await first.commit();
    await write(backends, 'x');
  });
});
