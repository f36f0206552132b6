// A read that does not end makes room for the reads of other users, and not for those of its own.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { runSql } from '../../support/postgresql-setup.ts';

/** Text of a record whose reads stand still while the test holds the lock. */
const stuck = 'stands still';
const lock = 7;

let url: string;
let drop: () => Promise<void>;
let service: TestService;

beforeAll(async () => {
  ({ url, drop } = await cloneDatabase());
  service = await startTestService({ settings: postgresqlSettings(url) });
});
afterAll(async () => {
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

/** Waits until a read waits for the lock. */
async function untilStuck(): Promise<void> {
  const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted`;
  while ((await runSql(url, waiting)).length === 0);
}

test('A read of one user that stands still delays another user for a moment only.', async () => {
  await createRecord('alice', 'one', stuck);
  await createRecord('alice', 'two', 'goes on');
  await createRecord('bob', 'own', 'goes on');
  await runSql(
    url,
    `ALTER TABLE coffer_objects RENAME TO stored;
    CREATE VIEW coffer_objects AS SELECT * FROM stored
      WHERE data NOT LIKE '%${stuck}%' OR pg_advisory_xact_lock_shared(${lock}) IS NOT NULL`,
  );
  const done: string[] = [];
  const list = async (user: string, collection: string): Promise<void> => {
    const path = `/v1/buckets/${user}/collections/${collection}/records?like_text=goes`;
    expect((await service.asUser(user).request('GET', path)).status).toBe(200);
    done.push(collection);
  };
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query(`SELECT pg_advisory_lock(${lock})`);
  const first = list('alice', 'one');
  await untilStuck();
  const second = list('alice', 'two');
  await list('bob', 'own');
  expect(done).toEqual(['own']);
  await holder.end();
  await Promise.all([first, second]);
  expect(done).toEqual(['own', 'one', 'two']);
});
