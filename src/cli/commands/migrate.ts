// `coffer migrate`: creates or upgrades what the backends need.
import { Command } from 'commander';
import { loadForBackends, type CommonOptions } from '../common.ts';
import { say } from '../terminal.ts';

interface MigrateOptions extends CommonOptions {
  readonly dryRun?: true;
}

const examples = `
Each step is done whole or not at all, and once, whatever is interrupted and however many run it at the same time, so it
can be run again at any time. With SQLite and Redis coffer start does the same; with PostgreSQL it refuses to start until
this was run. A database that a newer version has migrated is left alone. Make a backup first: there is no way back.

Examples:
  coffer migrate --dry-run    tell what would be done
  coffer migrate
`;

/** The command. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('create or upgrade what the backends need')
    .option('--dry-run', 'only tell what would be done')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<MigrateOptions>();
      const { migrate } = await import('../../app/maintenance.ts');
      const lines = await migrate(loadForBackends(options), { dryRun: options.dryRun === true });
      if (options.quiet === true) return;
      for (const line of lines) say(line);
      if (lines.length === 0) say('Nothing to do.');
    });
}
