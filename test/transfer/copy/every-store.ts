// Open stores of every backend there is, for tests that move things between them.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { openStores } from '../../../src/backends/open-backends.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { inExtent } from '../../support/extent.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { RedisCluster } from '../../support/redis-cluster.ts';
import { openTestServer } from '../../support/redis.ts';

const all = ['memory', 'sqlite', 'postgresql', 'redis', 'redis-cluster'] as const;
export type Backend = (typeof all)[number];
/** A cluster starts in many seconds, so only the complete run has one. */
export const backends = inExtent<readonly Backend[]>(all.slice(0, -1), all);

/** Stores of all backends, and what has to be done when they are no longer needed. */
export class EveryStore {
  readonly #stores = new Map<Backend, OpenStores>();
  readonly #cleanUps: (() => unknown)[] = [];

  static async open(): Promise<EveryStore> {
    const every = new EveryStore();
    for (const backend of backends) every.#stores.set(backend, await open(backend, every.#cleanUps));
    return every;
  }

  of(backend: Backend): OpenStores {
    return this.#stores.get(backend)!;
  }

  async close(): Promise<void> {
    for (const opened of this.#stores.values()) await opened.close();
    for (const cleanUp of this.#cleanUps.toReversed()) await cleanUp();
  }
}

/** Deletes everything in the stores. */
export async function empty({ storage, permission }: OpenStores): Promise<void> {
  await inUnit(storage.database, async (transaction) => {
    await storage.writer(transaction).flush();
    await permission.writer(transaction).flush();
  });
}

async function urlOf(backend: Backend, cleanUps: (() => unknown)[]): Promise<string> {
  switch (backend) {
    case 'memory':
      return '';
    case 'sqlite': {
      const folder = mkdtempSync(join(tmpdir(), 'coffer-copy-'));
      cleanUps.push(() => rmSync(folder, { recursive: true }));
      return `sqlite://${join(folder, 'coffer.sqlite3')}`;
    }
    case 'postgresql': {
      const { url, drop } = await cloneDatabase();
      cleanUps.push(drop);
      return url;
    }
    case 'redis': {
      const { url, close } = await openTestServer();
      cleanUps.push(close);
      return url;
    }
    case 'redis-cluster': {
      const cluster = await RedisCluster.start();
      cleanUps.push(() => cluster.remove());
      return cluster.url;
    }
  }
}

async function open(backend: Backend, cleanUps: (() => unknown)[]): Promise<OpenStores> {
  const name = backend === 'redis-cluster' ? 'redis' : backend;
  const url = await urlOf(backend, cleanUps);
  const kinds = ['storage', 'permission'];
  const place = kinds.flatMap((kind) => [[`${kind}_backend`, name] as const, [`${kind}_url`, url] as const]);
  const settings = settingsOf({
    ...Object.fromEntries(place),
    redis_prefix: `test-${randomUUID()}:`,
    'multiauth.policies': '',
  });
  const opened = await openStores(settings, systemClock);
  for (const database of opened.databases) await database.initializeSchema({ dryRun: false });
  return opened;
}
