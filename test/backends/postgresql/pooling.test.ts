// The backends behind a pooler that gives each transaction to another session of the server.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ConnectionPool } from '../../../src/backends/postgresql/connection-pool.ts';
import { lastModifiedField } from '../../../src/core/query/fields.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { describeDatabase } from '../../contract/run-suite.ts';
import { findPgbouncer, startPgbouncer, type Pooler } from '../../support/pgbouncer.ts';
import { migrateDatabase } from '../../support/postgresql-setup.ts';
import { createDatabase, openPostgres, ReusedDatabase } from '../../support/postgresql.ts';

const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };

test('Behind a pooler no state is left in a session.', async () => {
  const url = await databaseWithTables();
  const pool = new ConnectionPool({ url, size: 1, maxOverflow: 1, isPooled: true, lockTimeoutSeconds: 3 });
  const { database, storage } = openPostgres(systemClock, { url, size: 1, maxOverflow: 1, isPooled: true });
  onTestFinished(() => database.close());
  onTestFinished(() => pool.leave());
  pool.share();
  await inUnit(database, (transaction) => storage.writer(transaction).update(list, 'x', '{}'));
  await storage.reader.get(list, 'x');
  const ask = `SELECT (SELECT count(*) FROM pg_prepared_statements), current_setting('lock_timeout'),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')`;
  const { rows } = await pool.run('storage', { text: ask }, []);
  expect(rows).toEqual([['0', '0', '0']]);
});

test('Each transaction sets its timeouts.', async () => {
  const url = await databaseWithTables();
  const { database } = openPostgres(systemClock, {
    url,
    isPooled: true,
    lockTimeoutSeconds: 3,
    statementTimeoutSeconds: 7,
  });
  onTestFinished(() => database.close());
  await inUnit(database, async (transaction) => {
    const access = database.within(transaction, 'storage');
    const ask = `SELECT current_setting('lock_timeout'), current_setting('statement_timeout')`;
    expect((await access.run({ text: ask }, [])).rows).toEqual([['3s', '7s']]);
  });
});

test('Names of prepared statements differ with their texts, also between processes that get the sessions of each other.', async () => {
  const url = await databaseWithTables();
  const { database, storage } = openPostgres(systemClock, { url });
  onTestFinished(() => database.close());
  const unit = await database.begin();
  const writer = storage.writer(unit);
  await writer.update(list, 'x', '{}');
  for (const direction of ['ascending', 'descending'] as const) {
    await writer.listAll(list, { filters: [], sort: [{ field: lastModifiedField, direction }], limit: 10 });
  }
  const ask = { text: 'SELECT name, statement FROM pg_prepared_statements' };
  const { rows } = await database.within(unit, 'storage').run(ask, []);
  await unit.commit();
  expect(rows.filter(([name]) => name!.startsWith('page-'))).toHaveLength(2);
  for (const [name, text] of rows) {
    const hash = createHash('sha256').update(text!).digest('base64url').slice(0, 16);
    expect(name!.endsWith(`-${hash}`), name!).toBe(true);
    expect(name!.length).toBeLessThan(64);
  }
});

describe('A start without the setting names it', () => {
  test('when the pooler refuses the timeouts of connections, and does not wait.', async () => {
    // PgBouncer, which has not accepted the client yet.
    const reason = 'SFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0';
    const message = `E${String.fromCodePoint(0, 0, 0, reason.length + 4)}${reason}`;
    const pooler = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(Buffer.from(message, 'latin1')));
    }).listen(0, '127.0.0.1');
    await once(pooler, 'listening');
    onTestFinished(() => void pooler.close());
    const { port } = pooler.address() as AddressInfo;
    const { database } = openPostgres(systemClock, { url: `postgresql://coffer@127.0.0.1:${port}/x` });
    onTestFinished(() => database.close());
    const started = database.initializeSchema({ dryRun: true });
    await expect(started).rejects.toThrow('set postgresql_transaction_pooling');
    await expect(started).rejects.toMatchObject({ isLasting: true });
  });

  test('when the pooler drops the timeouts of connections, or the URL asks for none.', async () => {
    const url = `${await databaseWithTables()}?lock_timeout=0`;
    const { database } = openPostgres(systemClock, { url });
    onTestFinished(() => database.close());
    await expect(database.initializeSchema({ dryRun: true })).rejects.toThrow(
      /lock_timeout is 0\. Remove it from the URL\. .*behind a pooler, set postgresql_transaction_pooling/,
    );
    const pooled = openPostgres(systemClock, { url, isPooled: true });
    onTestFinished(() => pooled.database.close());
    expect(await pooled.database.initializeSchema({ dryRun: true })).toEqual([]);
  });
});

async function databaseWithTables(): Promise<string> {
  const url = await createDatabase();
  await migrateDatabase(url);
  return url;
}

const found = findPgbouncer();

function describePgbouncer(program: NonNullable<typeof found>): void {
  let pooler: Pooler;
  let name: string;
  let reused: ReusedDatabase;

  beforeAll(async () => {
    pooler = await startPgbouncer(program, inject('postgresqlUrl'));
    name = new URL(await databaseWithTables()).pathname.slice(1);
    reused = new ReusedDatabase({ url: pooler.url(name), size: 10, isPooled: true });
  });
  afterAll(async () => {
    await reused.close();
    await pooler.stop();
  });

  describeDatabase('postgresql behind PgBouncer', (clock) => reused.open(clock));

  test('without the setting, a start fails at once and names it.', async () => {
    const { database } = openPostgres(systemClock, { url: pooler.url(name) });
    onTestFinished(() => database.close());
    const started = database.initializeSchema({ dryRun: true });
    await expect(started).rejects.toThrow('set postgresql_transaction_pooling');
    await expect(started).rejects.toMatchObject({ isLasting: true });
  });

  test('serves more units at the same time than it has sessions.', async () => {
    const { database, storage } = openPostgres(systemClock, { url: pooler.url(name), isPooled: true });
    onTestFinished(() => database.close());
    const lists = ['p', 'q', 'r'].map((id) => ({
      kind: 'record',
      parent: storedParent(`/buckets/${id}/collections/c`),
    }));
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        inUnit(database, (transaction) => storage.writer(transaction).update(lists[n % 3]!, `n${n}`, '{}')),
      ),
    );
    const counts = await Promise.all(lists.map((each) => storage.reader.countAll(each, { filters: [] })));
    expect(counts).toEqual([20, 20, 20]);
  });
}

if (found === undefined) {
  test('the contract suites pass behind PgBouncer', ({ skip }) => {
    skip('pgbouncer is missing; install it with: apt-get install pgbouncer');
  });
} else describe('PgBouncer in transaction mode', () => describePgbouncer(found));
