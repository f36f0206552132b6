// Schemas of the backends: migrations, and the check before a service starts.
import { migrateCommand } from '../settings/migrate-command.ts';
import type { Settings } from '../settings/settings.ts';
import { openBackends } from '../backends/open-backends.ts';
import { systemClock } from '../base/clock.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';

/**
 * Brings the schemas of backends of one process up to date. Those that many processes share are changed by `coffer
 * migrate` alone, so that a new version does not change them while the old one runs.
 *
 * @throws Error when such a schema does not belong to this version
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

/**
 * Creates or upgrades the schemas of all backends, and returns a line for each completed step; in a dry run, for each pending step.
 *
 * @throws Error in read-only mode, unless it is a dry run
 */
export async function migrate(settings: Settings, options: { readonly dryRun: boolean }): Promise<readonly string[]> {
  if (settings.get('readonly') && !options.dryRun) {
    throw new Error('readonly is set: storage and permissions must not be migrated from a read-only instance.');
  }
  const backends = await openBackends(settings, systemClock);
  try {
    const steps: string[] = [];
    const { cache, securityState, databases } = backends;
    for (const store of [cache, securityState, ...databases]) steps.push(...(await store.initializeSchema(options)));
    return steps;
  } finally {
    await backends.close();
  }
}
