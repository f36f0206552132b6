// Migrations: any number of processes may run them at once, and no process works on tables that it does not know.
import { describe, expect, onTestFinished, test } from 'vitest';
import { openBackends } from '../../../src/app/backends.ts';
import { migrate } from '../../../src/app/maintenance.ts';
import { prepareSchemas } from '../../../src/app/schemas.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { settingsOf } from '../../../src/settings/load.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { runSql } from '../../support/postgresql-setup.ts';
import { createDatabase, openCache, openPostgres } from '../../support/postgresql.ts';

function settingsFor(url: string): Settings {
  return settingsOf({ userid_hmac_secret: 'x', ...postgresqlSettings(url) });
}

async function start(url: string): Promise<void> {
  const backends = await openBackends(settingsFor(url), systemClock);
  try {
    await prepareSchemas(backends);
  } finally {
    await backends.close();
  }
}

describe('migrations', () => {
  test('are listed, done once, and then there is nothing left to do', async () => {
    const url = await createDatabase();
    const planned = await migrate(settingsFor(url), { dryRun: true });
    expect(planned).toHaveLength(4);
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

  test('are needed before the service starts, which says so', async () => {
    const url = await createDatabase();
    await expect(start(url)).rejects.toThrow(/run `coffer migrate`[\s\S]*create the tables of lists/);
    await migrate(settingsFor(url), { dryRun: false });
    await start(url);
  });

  test('of a newer version keep an older one from starting and from migrating', async () => {
    const url = await createDatabase();
    await migrate(settingsFor(url), { dryRun: false });
    await runSql(url, `UPDATE coffer_versions SET version = 99 WHERE component = 'database'`);
    await expect(start(url)).rejects.toThrow('version 99');
    await expect(migrate(settingsFor(url), { dryRun: false })).rejects.toThrow('version 99');
  });

  test('refuse a database whose encoding cannot hold everything', async () => {
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
    const list = { kind: 'record', parent: '/x' };
    await expect(storage.reader.get(list, 'x')).rejects.toThrow(BackendUnavailable);
    await expect(storage.reader.get(list, 'x')).rejects.toThrow('coffer migrate');
    await expect(cache.get('x')).rejects.toThrow('coffer migrate');
  });
});
