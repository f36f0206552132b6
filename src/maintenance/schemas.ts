// What has to be true of the backends' schemas before anything is served.
import { migrateCommand } from '../settings/migrate-command.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';

/**
 * Brings the schemas of backends of one process up to date. Those that many processes share are changed by `coffer
 * migrate` alone, so that a new version does not change them under the feet of the old one.
 *
 * @throws Error when such a schema is not the one that this version knows
 */
export async function prepareSchemas(
  { databases, cache, securityState }: OpenBackends,
  settings: Settings,
): Promise<void> {
  const missing: string[] = [];
  for (const store of [...databases, cache, securityState]) {
    const lines = await store.initializeSchema({ dryRun: true });
    if (store.needsMigration === true) missing.push(...lines);
    else if (lines.length > 0) await store.initializeSchema({ dryRun: false });
  }
  if (missing.length === 0) return;
  throw new Error(
    `The database is not ready: run \`${migrateCommand(settings)}\`. To do:\n${missing
      .map((line) => `  ${line}`)
      .join('\n')}`,
  );
}
