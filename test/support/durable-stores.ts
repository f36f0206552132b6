// A database of its own on one of the durable backends, for one test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import { openStores } from '../../src/backends/open-backends.ts';
import { settingsOfUrl } from '../../src/transfer/copy/places.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { ListKey, StoredEntry } from '../../src/core/objects/stored.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { cloneDatabase } from './postgresql.ts';
import { RedisCluster } from './redis-cluster.ts';
import { RedisProcess } from './redis.ts';

export type DurableBackend = 'sqlite' | 'postgresql' | 'redis' | 'redis-cluster';

/** Settings of an empty database, and its stores; both are gone after the test. */
export async function openDurable(
  backend: DurableBackend,
): Promise<{ readonly settings: Settings; readonly stores: OpenStores }> {
  const settings = settingsOfUrl(await newUrl(backend));
  const stores = await openStores(settings, systemClock);
  onTestFinished(() => stores.close());
  for (const database of stores.databases) await database.initializeSchema({ dryRun: false });
  return { settings, stores };
}

async function newUrl(backend: DurableBackend): Promise<string> {
  if (backend === 'postgresql') {
    const { url, drop } = await cloneDatabase();
    onTestFinished(drop);
    return url;
  }
  if (backend === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-stores-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return `sqlite://${join(folder, 'coffer.sqlite3')}`;
  }
  const server = await (backend === 'redis' ? RedisProcess.start() : RedisCluster.start());
  onTestFinished(() => server.remove());
  return server.url;
}

/** Makes entries part of a list, in a unit of work. */
export function restoreList(
  { storage }: OpenStores,
  list: ListKey,
  clock: number,
  entries: readonly StoredEntry[],
): Promise<void> {
  return inUnit(storage.database, (transaction) => storage.writer(transaction).restore(list, { clock, entries }));
}
