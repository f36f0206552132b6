// `coffer migrate`: creates or upgrades what the backends need.
import { Command } from 'commander';
import { loadWith, type CommonOptions } from '../common.ts';
import { say } from '../terminal.ts';

interface MigrateOptions extends CommonOptions {
  readonly dryRun?: true;
}

const examples = `
It can be run again at any time. Examples:
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
      const lines = await migrate(loadWith(options), { dryRun: options.dryRun === true });
      if (options.quiet === true) return;
      for (const line of lines) say(line);
      if (lines.length === 0) say('Nothing to do.');
    });
}
