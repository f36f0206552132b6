// `coffer migrate`: creates or upgrades what the backends need.
import { Command } from 'commander';
import type { Settings } from '../../settings/settings.ts';
import { loadForBackends, type CommonOptions } from '../common.ts';
import { print } from '../terminal.ts';

interface MigrateOptions extends CommonOptions {
  readonly dryRun?: true;
}

const examples = `
Each step is done whole or not at all, and once, whatever is interrupted and however many run it at the same time, so it
can be run again at any time. With SQLite and Redis coffer start does the same; with PostgreSQL it refuses to start until
this was run. A database that a newer version has migrated is left alone. Make a backup first: there is no way back.

Examples:
  coffer migrate --dry-run    print the steps
  coffer migrate
`;

/** The command. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('create or upgrade the tables of the backends')
    .option('--dry-run', 'print the steps, and change nothing')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<MigrateOptions>();
      const { migrate } = await import('../../app/maintenance.ts');
      const settings = loadForBackends(options);
      const dryRun = options.dryRun === true;
      const lines = await migrate(settings, { dryRun });
      if (options.quiet === true) return;
      for (const line of report(settings, lines, dryRun)) print(line);
    });
}

/** Returns what was done, or would be done, on which backends. */
function report(settings: Settings, lines: readonly string[], dryRun: boolean): readonly string[] {
  const backends = (['storage', 'permission', 'cache'] as const)
    .map((kind) => `${kind} ${settings.get(`${kind}_backend`) ?? 'none'}`)
    .join(', ');
  const what = lines.length === 0 ? 'nothing to do.' : dryRun ? 'to do:' : 'these steps were carried out:';
  const steps = lines.map((line) => `  ${line}`);
  return [`Backends (${backends}): ${what}`, ...steps, dryRun ? 'Nothing was changed.' : 'Done.'];
}
