// What users wait for when the reads of one of them do not end.
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import type { Plugin } from '../../../src/http/plugin.ts';
import { authorizationOf, startTestService, type TestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { cloneDatabase, openPostgres } from '../../support/postgresql.ts';
import { runSql } from '../../support/postgresql-setup.ts';

/** Text of a record whose reads stand still while the test holds the lock. */
const stuck = 'stands still';
const lock = 7;

let url: string;
let drop: () => Promise<void>;
let service: TestService;
let holder: pg.Client;
/** Called with the status of each finished request. */
let finished: (status: unknown) => void = () => {};

/** Number of requests whose user is known. */
let known = 0;

function countRequest(): Promise<readonly string[]> {
  known++;
  return Promise.resolve([]);
}

/** Starts a service in which reads of records with the text stand still, until the holder of the lock ends. */
async function start(settings: Readonly<Record<string, string>> = {}, more: readonly string[] = []): Promise<void> {
  ({ url, drop } = await cloneDatabase());
  const info = (fields: unknown): void => finished((fields as { readonly code?: number }).code);
  const logger = { ...silentLogger, info };
  const plugin: Plugin = { name: 'counting', setup: () => ({ principals: countRequest }) };
  service = await startTestService({
    settings: { ...postgresqlSettings(url), ...settings },
    logger,
    plugins: [plugin],
  });
  for (const collection of ['one', 'two']) await createRecord('alice', collection, stuck);
  for (const collection of ['three', ...more]) await createRecord('alice', collection, 'goes on');
  await createRecord('bob', 'own', 'goes on');
  await runSql(
    url,
    `ALTER TABLE coffer_objects RENAME TO stored;
    CREATE VIEW coffer_objects AS SELECT * FROM stored
      WHERE data NOT LIKE '%${stuck}%' OR pg_advisory_xact_lock_shared(${lock}) IS NOT NULL`,
  );
  holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query(`SELECT pg_advisory_lock(${lock})`);
}

afterEach(async () => {
  await service.close();
  await drop();
});

async function createRecord(user: string, collection: string, text: string): Promise<void> {
  const client = service.asUser(user);
  await client.request('PUT', `/v1/buckets/${user}`);
  await client.request('PUT', `/v1/buckets/${user}/collections/${collection}`);
  const path = `/v1/buckets/${user}/collections/${collection}/records/r`;
  expect((await client.request('PUT', path, { body: { data: { text } } })).status).toBe(201);
}

/** Waits until so many reads wait for the lock. */
async function untilStuck(count: number): Promise<void> {
  const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted`;
  while ((await runSql(url, waiting)).length < count);
}

const pathOf = (user: string, collection: string): string => `/buckets/${user}/collections/${collection}/records`;

test('Reads of one user that stand still delay another user for a moment only.', async () => {
  await start();
  const done: string[] = [];
  const list = async (user: string, collection: string): Promise<void> => {
    const path = `/v1${pathOf(user, collection)}?like_text=goes`;
    expect((await service.asUser(user).request('GET', path)).status).toBe(200);
    done.push(collection);
  };
  const ofAlice = ['one', 'two'].map((collection) => list('alice', collection));
  await untilStuck(2);
  ofAlice.push(list('alice', 'three'));
  await list('bob', 'own');
  expect(done).toEqual(['own']);
  await holder.end();
  await Promise.all(ofAlice);
  // It begins when one of the others has ended.
  expect(done.indexOf('three')).toBeGreaterThan(1);
});

test('Reads that wait for their turn end when their clients are gone, except for a few.', async () => {
  const [waiting, kept] = [25, 20];
  const lists = Array.from({ length: waiting }, (_, n) => `list${n}`);
  await start({}, lists);
  const alice = service.asUser('alice');
  const ofAlice = ['one', 'two'].map((collection) => alice.request('GET', `/v1${pathOf('alice', collection)}?n=1`));
  await untilStuck(2);
  let refusals = 0;
  finished = (status): void => {
    if (status === 503) refusals++;
  };
  known = 0;
  const leaving = new AbortController();
  const headers = { Authorization: authorizationOf('alice') };
  const others = lists.map((collection) =>
    fetch(`${service.origin}/v1${pathOf('alice', collection)}?n=1`, { headers, signal: leaving.signal }),
  );
  await expect.poll(() => known).toBe(waiting);
  // They wait when a later one of the same kind is answered.
  await service.asUser('bob').request('GET', `/v1${pathOf('bob', 'own')}?n=1`);
  leaving.abort();
  for (const each of others) await expect(each).rejects.toThrow('aborted');
  await expect.poll(() => refusals).toBe(waiting - kept);
  await holder.end();
  expect((await Promise.all(ofAlice)).map(({ status }) => status)).toEqual([200, 200]);
});

test('A query that takes too long in a batch that writes fails alone, without a promise that a retry helps.', async () => {
  await start({ postgresql_statement_timeout_seconds: '0.5' });
  const alice = service.asUser('alice');
  const requests = [
    { method: 'PUT', path: `${pathOf('alice', 'three')}/new`, body: { data: {} } },
    { method: 'GET', path: `${pathOf('alice', 'one')}?n=1` },
  ];
  const { status, text, body, headers } = await alice.request('POST', '/v1/batch', { body: { requests } });
  expect([status, headers['retry-after']]).toEqual([200, undefined]);
  expect(body).toMatchObject({ responses: [{ status: 201 }, { status: 400 }] });
  expect(text).toContain('the query is too much work');
  expect((await alice.request('GET', `/v1${pathOf('alice', 'three')}/new`)).status).toBe(200);
  await holder.end();
});

test('Units of work of one user leave places to others.', async () => {
  await start();
  const { database } = openPostgres(systemClock, { url, size: 2, maxOverflow: 1 });
  const first = await database.begin({ party: 'alice' });
  let hasBegun = false;
  const second = database.begin({ party: 'alice' }).then((transaction) => {
    hasBegun = true;
    return transaction;
  });
  await (await database.begin({ party: 'bob' })).commit();
  expect(hasBegun).toBe(false);
  await first.commit();
  await (await second).commit();
  await database.close();
  await holder.end();
});
