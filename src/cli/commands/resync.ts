// `coffer resync`: tells every client to synchronise anew.
import { Command } from 'commander';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

const examples = `
For after a backup was restored. Clients that have seen changes made after the backup ask for what is newer than those, and
would keep for ever what the service has lost. This moves the clock of every list on, and what clients may know of it
already is declared incomplete: each gets the header Resync with its next request (or 410, with refuse_outdated_since), and
loads the lists that it follows once more.

The service may run meanwhile. With the plugin signer, have the collections signed again afterwards (status to-resign),
because what is signed says how new the list is.

Example:
  coffer resync
`;

/** The command. */
export function resyncCommand(): Command {
  return new Command('resync')
    .description('make every client synchronise in full, after a backup was restored')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const settings = loadDurable(options);
      if (settings.get('readonly')) {
        throw new Exit(exitCodes.failed, 'readonly is set: do this with a configuration that may write');
      }
      const { resyncAll } = await import('../../app/resync.ts');
      const count = await resyncAll(settings);
      if (options.quiet !== true) print(`Clients of ${count} lists are told to synchronise anew.`);
    });
}
