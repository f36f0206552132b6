// `coffer migrate`: creates or upgrades the schema of the backends.
import { Command } from 'commander';
import type { Settings } from '../../settings/settings.ts';
import { loadForBackends, type CommonOptions } from '../common.ts';
import { print } from '../terminal.ts';

interface MigrateOptions extends CommonOptions {
  readonly dryRun?: true;
}

const examples = `
Each step is atomic and runs once, even after interruptions and with concurrent runs, so the command can be repeated. With
SQLite and Redis, coffer start migrates too; with PostgreSQL it refuses to start before this command has run. A database
migrated by a newer version is not changed. Make a backup first: migrations cannot be reverted.

Examples:
  coffer migrate --dry-run    list the steps
  coffer migrate
`;

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('create or upgrade the tables of the backends')
    .option('--dry-run', 'list the steps, change nothing')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<MigrateOptions>();
      const { migrate } = await import('../../maintenance/schemas.ts');
      const settings = loadForBackends(options);
      const dryRun = options.dryRun === true;
      const lines = await migrate(settings, { dryRun });
      if (options.quiet === true) return;
      for (const line of report(settings, lines, dryRun)) print(line);
    });
}

/** Returns the report about the backends and the steps. */
function report(settings: Settings, lines: readonly string[], dryRun: boolean): readonly string[] {
  const backends = (['storage', 'permission', 'cache'] as const)
    .map((kind) => `${kind} ${settings.get(`${kind}_backend`) ?? 'none'}`)
    .join(', ');
  const what = lines.length === 0 ? 'nothing to do.' : dryRun ? 'pending steps:' : 'completed steps:';
  const steps = lines.map((line) => `  ${line}`);
  return [`Backends (${backends}): ${what}`, ...steps, dryRun ? 'Nothing was changed.' : 'Done.'];
}
