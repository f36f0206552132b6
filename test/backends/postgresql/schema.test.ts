// Migrations: any number of processes may run them at once, and no process uses tables of an unknown version.
import { describe, expect, onTestFinished, test } from 'vitest';
import { openBackends } from '../../../src/backends/open-backends.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { storedUserId } from '../../../src/core/permissions/principals.ts';
import { migrate } from '../../../src/maintenance/schemas.ts';
import { prepareSchemas } from '../../../src/maintenance/schemas.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { databaseComponent } from '../../../src/backends/postgresql/schema.ts';
import { keyOfText } from '../../../src/backends/postgresql/text-key.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { runSql } from '../../support/postgresql-setup.ts';
import { createDatabase, openCache, openPostgres } from '../../support/postgresql.ts';

function settingsFor(url: string): Settings {
  return settingsOf({ userid_hmac_secret: 'x', ...postgresqlSettings(url) });
}

async function start(url: string): Promise<void> {
  const settings = settingsFor(url);
  const backends = await openBackends(settings, systemClock);
  try {
    await prepareSchemas(backends, settings);
  } finally {
    await backends.close();
  }
}

describe('migrations', () => {
  test('are listed, done once, and nothing is pending afterwards', async () => {
    const url = await createDatabase();
    const planned = await migrate(settingsFor(url), { dryRun: true });
    expect(planned).toHaveLength(16);
    expect(await migrate(settingsFor(url), { dryRun: true })).toEqual(planned);
    expect(await migrate(settingsFor(url), { dryRun: false })).toEqual(planned);
    expect(await migrate(settingsFor(url), { dryRun: true })).toEqual([]);
    expect(await migrate(settingsFor(url), { dryRun: false })).toEqual([]);
  });

  test('may be run by several processes at the same time, each step by one of them', async () => {
    const url = await createDatabase();
    const runs = await Promise.all(Array.from({ length: 6 }, () => migrate(settingsFor(url), { dryRun: false })));
    const planned = await migrate(settingsFor(await createDatabase()), { dryRun: true });
    expect(runs.flat().toSorted()).toEqual(planned.toSorted());
  });

  test('are required before the service starts, which reports it', async () => {
    const url = await createDatabase();
    await expect(start(url)).rejects.toThrow(/run `coffer migrate`[\s\S]*create the tables of lists/);
    await migrate(settingsFor(url), { dryRun: false });
    await start(url);
  });

  test('of a newer version prevent an older one from starting and from migrating', async () => {
    const url = await createDatabase();
    await migrate(settingsFor(url), { dryRun: false });
    await runSql(url, `UPDATE coffer_versions SET version = 99 WHERE component = 'database'`);
    await expect(start(url)).rejects.toThrow('version 99');
    await expect(migrate(settingsFor(url), { dryRun: false })).rejects.toThrow('version 99');
  });

  test('store the whole ids of users, including those of existing members', async () => {
    const url = await createDatabase();
    const [first] = databaseComponent.migrations;
    await runSql(
      url,
      `CREATE TABLE coffer_versions (component text COLLATE "C" PRIMARY KEY, version integer NOT NULL)`,
    );
    await runSql(url, `${first!.sql}; INSERT INTO coffer_versions VALUES ('database', 1)`);
    const long = [`basicauth:${'x'.repeat(700)}`, `é\u{1F600}"'${'y'.repeat(900)}`, 'z'.repeat(501)];
    const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;
    const data = JSON.stringify({ members: ['short', ...long.slice(0, 2)] });
    await runSql(
      url,
      `INSERT INTO coffer_lists (parent, kind, list, clock, live) VALUES ('/buckets/a', 'group', 7, 9, 2);
      INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes) VALUES
        ('/buckets/a', 7, 'g', 9, ${quote(data)}, ${quote(data)}), ('/buckets/a', 7, 'h', 8, '{}', '{"members": {}}');
      INSERT INTO coffer_memberships (user_key, principal) VALUES ('short', '/buckets/a/groups/g'),
        ${long.map((id) => `(${quote(keyOfText(id))}, '/buckets/a/groups/g')`).join()},
        (${quote(keyOfText(long[0]!))}, '/buckets/a/groups/other')`,
    );
    expect(await migrate(settingsFor(url), { dryRun: false })).toHaveLength(15);
    const { database, permission } = openPostgres(systemClock, { url });
    onTestFinished(() => database.close());
    const users = (await permission.reader.memberships(undefined, 10)).found;
    const whole = ['short', ...long.slice(0, 2)];
    for (const id of whole) expect(users.map(({ userId }) => userId)).toContain(id);
    // A user in no group that lists it is still identified by its key.
    expect(users.map(({ userId }) => userId)).toContain(keyOfText(long[2]!));
    expect(users).toHaveLength(4);
    expect(await permission.reader.getUserPrincipals(storedUserId(long[1]!))).toEqual(new Set(['/buckets/a/groups/g']));
  });

  test('continue after a failure from the step that failed', async () => {
    const url = await createDatabase();
    // Blocks the third step.
    await runSql(url, 'CREATE TABLE coffer_cache (x int)');
    await expect(migrate(settingsFor(url), { dryRun: false })).rejects.toThrow('coffer_cache');
    await runSql(url, 'DROP TABLE coffer_cache');
    const left = await migrate(settingsFor(url), { dryRun: true });
    expect(await migrate(settingsFor(url), { dryRun: false })).toEqual(left);
    await start(url);
  });

  test('refuse a database whose encoding cannot store every text', async () => {
    const url = await createDatabase(`TEMPLATE template0 ENCODING 'SQL_ASCII'`);
    await expect(migrate(settingsFor(url), { dryRun: false })).rejects.toThrow('encoding SQL_ASCII');
  });

  test('that were never run make every request fail with a hint', async () => {
    const url = await createDatabase();
    const { database, storage } = openPostgres(systemClock, { url });
    const cache = openCache(systemClock, { url });
    onTestFinished(async () => {
      await database.close();
      await cache.close();
    });
    const list = { kind: 'record', parent: storedParent('/x') };
    await expect(storage.reader.get(list, 'x')).rejects.toThrow(BackendUnavailable);
    await expect(storage.reader.get(list, 'x')).rejects.toThrow('coffer migrate');
    await expect(cache.get('x')).rejects.toThrow('coffer migrate');
  });
});
