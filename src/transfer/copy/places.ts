// The two ends of a copy: opens stores from a URL or from settings, ready to be read or written.
import { existsSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { findBackend, withoutPasswords } from '../../settings/backend-settings.ts';
import { settingsOf } from '../../backends/load-settings.ts';
import { completeCommand, migrateCommand } from '../../settings/migrate-command.ts';
import type { Settings } from '../../settings/settings.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import { builtInBackends } from '../../backends/built-in-backends.ts';
import { createSecurityState, openStores } from '../../backends/open-backends.ts';

/** A copy that is refused, with a message for the operator. */
export class CopyRefused extends Error {}

export interface Place {
  readonly name: 'source' | 'target';
  readonly settings: Settings;
}

const copied = builtInBackends.filter(({ kinds, url }) => kinds.includes('storage') && url !== undefined);
const urlForms = copied.map(({ url }) => url?.ownForms).join(', ');

/**
 * Returns settings with storage and permissions at a URL.
 *
 * @throws CopyRefused when the URL names nothing that can be copied
 */
export function settingsOfUrl(url: string): Settings {
  if (/^memory:?/i.test(url)) {
    throw new CopyRefused('memory cannot be copied: it belongs to one process and ends with it');
  }
  const name = copied.find((backend) => backend.url?.isOwn(url))?.name;
  if (name === undefined) throw new CopyRefused(`${withoutPasswords(url)} cannot be copied; use ${urlForms}`);
  return settingsOf({
    storage_backend: name,
    storage_url: url,
    permission_backend: name,
    permission_url: url,
    // Enough for a copy, and leaves connections to a service on the same server.
    ...(name === 'postgresql' ? { storage_pool_size: '4' } : {}),
    storage_pool_timeout: '10',
    'multiauth.policies': '',
  });
}

/** Describes where storage and permissions are, without passwords. */
export function describePlace({ settings }: Pick<Place, 'settings'> & Partial<Place>): string {
  const storage = describeBackend(settings, 'storage');
  const permission = describeBackend(settings, 'permission');
  return storage === permission ? storage : `${storage}, permissions in ${permission}`;
}

function describeBackend(settings: Settings, kind: 'storage' | 'permission'): string {
  const place = findBackend(settings, builtInBackends, kind)?.readPlace(settings, kind);
  return place?.text ?? settings.get(`${kind}_backend`) ?? 'nowhere';
}

/**
 * Opens a place for a piece of work, checks whether it can be used, and closes it after the work.
 *
 * @param options.creates whether tables are created or upgraded
 * @throws CopyRefused with the end that is wrong
 */
export async function withPlace<T>(
  place: Place,
  options: { readonly creates: boolean },
  work: (stores: OpenStores) => Promise<T>,
): Promise<T> {
  const stores = await openPlace(place, options);
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}

async function openPlace(place: Place, { creates }: { readonly creates: boolean }): Promise<OpenStores> {
  const { name, settings } = place;
  for (const kind of ['storage', 'permission'] as const) {
    const backend = findBackend(settings, builtInBackends, kind);
    if (backend?.isVolatile === true) {
      throw new CopyRefused(`the ${kind} of the ${name} is in memory, which belongs to one process and ends with it`);
    }
    const { file } = backend?.readPlace(settings, kind) ?? {};
    // Opening would create the file.
    if (!creates && file !== undefined && !existsSync(file)) {
      throw new CopyRefused(`the ${name} does not exist: no file ${file}`);
    }
  }
  try {
    const stores = await openStores(settings, systemClock);
    try {
      await prepare(place, stores, creates);
      if (creates) await createSecurityState(settings, systemClock);
      return stores;
    } catch (error) {
      await stores.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof CopyRefused || !(error instanceof Error)) throw error;
    const message = `the ${name}, ${describePlace(place)}, cannot be used: ${completeCommand(error.message, settings)}`;
    throw new CopyRefused(message, { cause: error });
  }
}

async function prepare({ name, settings }: Place, { databases }: OpenStores, creates: boolean): Promise<void> {
  for (const database of databases) {
    const steps = await database.initializeSchema({ dryRun: !creates });
    if (creates || steps.length === 0) continue;
    throw new CopyRefused(
      `the ${name} has a different schema than this version; run \`${migrateCommand(settings)}\` there first. To do:\n${steps
        .map((step) => `  ${step}`)
        .join('\n')}`,
    );
  }
}
