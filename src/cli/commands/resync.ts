// `coffer resync`: makes every client synchronise in full.
import { Command } from 'commander';
import { loadDurable, requireWritable, type CommonOptions } from '../common.ts';
import { print } from '../terminal.ts';

const examples = `
Run this after restoring a backup. Clients that have seen later changes would otherwise keep data that the service has
lost. The command advances the clock and the horizon of every list. The next poll of each client then gets the header
Resync (or 410 with refuse_outdated_since), and the client loads its lists again.

The service may run. With the plugin signer, sign the collections again afterwards (status to-resign), because signatures
include the timestamp of the list.

Example:
  coffer resync
`;

export function resyncCommand(): Command {
  return new Command('resync')
    .description('make every client synchronise in full, after a backup was restored')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const settings = loadDurable(options);
      requireWritable(settings);
      const { resyncAll } = await import('../../maintenance/resync.ts');
      const count = await resyncAll(settings);
      if (options.quiet !== true) print(`Clients of ${count} lists will synchronise in full.`);
    });
}
