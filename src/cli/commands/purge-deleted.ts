// `coffer purge-deleted`: forgets old tombstones.
import { Command } from 'commander';
import { loadWith, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { say } from '../terminal.ts';

const examples = `
Deleted objects leave a tombstone, by which clients learn about the deletion. A client that stayed away since before the
oldest one kept may miss deletions; the service never forgets any by itself.

Example:
  coffer purge-deleted record collection 10000    keep the newest 10000 of each list of these kinds
`;

/** The command. */
export function purgeDeletedCommand(): Command {
  return new Command('purge-deleted')
    .description('forget all but the newest tombstones of each list')
    .usage('[options] <kind...> <max-retained>')
    .argument('<words...>', 'kinds of object (bucket, group, collection, record), then how many to keep per list')
    .addHelpText('after', examples)
    .action(async (words: readonly string[], _options, command: Command) => {
      const kinds = words.slice(0, -1);
      const last = words.at(-1) ?? '';
      if (kinds.length === 0 || !/^\d{1,15}$/.test(last)) {
        throw new Exit(exitCodes.usage, 'name one or more kinds, then how many tombstones to keep per list');
      }
      const settings = loadWith(command.optsWithGlobals<CommonOptions>());
      const { purgeDeleted } = await import('../../app/maintenance.ts');
      const count = await purgeDeleted(settings, { kinds, maxRetained: Number(last) });
      say(String(count));
    });
}
