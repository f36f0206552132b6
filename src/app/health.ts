// The checks of the heartbeat. Each uses a backend; in a read-only service it only reads.
import type { Database } from '../contracts/database.ts';
import { listFolder } from '../core/objects/uris.ts';
import { storedUserId, toPrincipal } from '../core/permissions/principals.ts';
import { runInUnit } from '../engine/retry.ts';
import { byId } from '../engine/walk.ts';
import type { Reader } from '../engine/unit-of-work.ts';
import type { PluginParts } from '../http/plugin.ts';
import type { HealthCheck } from '../http/views/heartbeat.ts';
import type { Settings } from '../settings/settings.ts';
import { silentLogger } from '../contracts/logger.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';

const list = { kind: '__heartbeat__', parent: listFolder('__heartbeat__') };
const user = storedUserId('__heartbeat__');
const principal = toPrincipal('alive');

/** Returns the checks of storage, permission and cache, and those of the plugins. */
export function healthChecks(
  backends: OpenBackends,
  settings: Settings,
  parts: readonly PluginParts[],
): ReadonlyMap<string, HealthCheck> {
  const isReadonly = settings.get('readonly');
  const checks = new Map<string, HealthCheck>([
    [
      'storage',
      async ({ isWriting, reader }) => {
        const works = await (isReadonly || isWriting ? readStorage(reader) : writeStorage(backends));
        await requireSound(backends.storage.database);
        return works;
      },
    ],
    ['cache', () => useCache(backends)],
  ]);
  if (backends.hasPermissions) {
    checks.set('permission', async ({ isWriting, reader }) => {
      const works = await (isReadonly || isWriting ? readPermission(reader) : writePermission(backends));
      await requireSound(backends.permission.database);
      return works;
    });
  }
  for (const { healthChecks: added } of parts) {
    for (const [name, check] of Object.entries(added ?? {})) checks.set(name, check);
  }
  return checks;
}

/** Throws known damage, also in parts that the check itself does not read. */
async function requireSound(database: Database): Promise<void> {
  const damage = await database.findDamage?.();
  if (damage !== undefined) throw damage;
}

async function writeStorage(backends: OpenBackends): Promise<boolean> {
  return runInUnit(backends, silentLogger, async (unit) => {
    const { storage } = await unit.writer();
    await storage.update(list, 'check', '{}');
    // A backend may hold writes back until a read, and store nothing of an object that is deleted again.
    const { entries } = await storage.listAll(list, { filters: [], sort: byId, limit: 1 });
    await storage.delete(list, 'check', { keepTombstone: false });
    return entries.length === 1;
  });
}

async function readStorage({ storage }: Reader): Promise<boolean> {
  await storage.get(list, 'check', undefined);
  return true;
}

async function writePermission(backends: OpenBackends): Promise<boolean> {
  return runInUnit(backends, silentLogger, async (unit) => {
    const { permission } = await unit.writer();
    await permission.addUserPrincipal(user, principal);
    await permission.removeUserPrincipal(user, principal);
    return true;
  });
}

async function readPermission({ permission }: Reader): Promise<boolean> {
  await permission.getUserPrincipals(user);
  return true;
}

/** Tries again once, because a flush may have removed the value. */
async function useCache({ cache }: OpenBackends): Promise<boolean> {
  for (let attempt = 0; attempt < 2; attempt++) {
    await cache.set('__heartbeat__', 'alive', 60);
    if ((await cache.get('__heartbeat__')) === 'alive') return true;
  }
  return false;
}
