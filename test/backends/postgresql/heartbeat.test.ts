// The heartbeat of a service on PostgreSQL writes to each table that requests need.
import { expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { runSql } from '../../support/postgresql-setup.ts';
import { cloneDatabase } from '../../support/postgresql.ts';

const healthy = { storage: true, permission: true, cache: true };

it.each([
  ['coffer_lists', 'storage'],
  ['coffer_objects', 'storage'],
  ['coffer_memberships', 'permission'],
])('notices that %s cannot be written.', async (table, ill) => {
  const { url, drop } = await cloneDatabase();
  const service = await startTestService({ settings: postgresqlSettings(url) });
  onTestFinished(async () => {
    await service.close();
    await drop();
  });
  expect((await service.request('GET', '/v1/__heartbeat__')).body).toEqual(healthy);
  await runSql(
    url,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON ${table} EXECUTE FUNCTION refuse()`,
  );
  const { status, body } = await service.request('GET', '/v1/__heartbeat__');
  expect(body).toEqual({ ...healthy, [ill]: false });
  expect(status).toBe(503);
  await runSql(url, 'DROP FUNCTION refuse() CASCADE');
  expect((await service.request('GET', '/v1/__heartbeat__')).body).toEqual(healthy);
});
