// `coffer purge-deleted`: forgets old tombstones.
import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { parseMoment } from '../moment.ts';
import { print } from '../terminal.ts';

interface PurgeCommandOptions extends CommonOptions {
  readonly olderThan?: number;
}

const examples = `
Deleted objects leave a tombstone, by which clients learn about the deletion. A client that stayed away since before the
oldest one kept may miss deletions; the service never forgets any by itself. Only tombstones go, never an object. The
service may run meanwhile: the work is done in small portions.

Examples:
  coffer purge-deleted record collection 10000      keep the newest 10000 of each list of these kinds
  coffer purge-deleted --older-than 30d             delete all tombstones older than 30 days
  coffer purge-deleted --older-than 12h record      the same for one kind, and hours (also: m for minutes)
  coffer purge-deleted --older-than 2026-01-31      delete all tombstones from before that day, in UTC
`;

/** The command. */
export function purgeDeletedCommand(): Command {
  return new Command('purge-deleted')
    .description('delete tombstones older than a given age, or beyond a number per list')
    .usage('[options] <kind...> <max-retained>\n       coffer purge-deleted [options] --older-than <age> [kind...]')
    .argument('[words...]', 'kinds of object (bucket, group, collection, record), then how many to keep per list')
    .option('--older-than <age>', 'delete tombstones of this age (30d, 12h, 90m) or from before a date', parseAge)
    .addHelpText('after', examples)
    .action(async (words: readonly string[], _options, command: Command) => {
      const options = command.optsWithGlobals<PurgeCommandOptions>();
      const limits = readLimits(words, options.olderThan);
      const { purgeDeleted } = await import('../../app/maintenance.ts');
      print(String(await purgeDeleted(loadDurable(options), limits)));
    });
}

interface Limits {
  readonly kinds: readonly string[];
  readonly maxRetained?: number;
  readonly before?: number;
}

function readLimits(words: readonly string[], before: number | undefined): Limits {
  const last = words.at(-1) ?? '';
  const isNumber = /^\d{1,15}$/.test(last);
  if (before !== undefined) {
    if (isNumber) throw new Exit(exitCodes.usage, 'give either --older-than or how many to keep per list, not both');
    return { kinds: words, before };
  }
  const kinds = words.slice(0, -1);
  if (kinds.length === 0 || !isNumber) {
    throw new Exit(
      exitCodes.usage,
      'name one or more kinds, then how many tombstones to keep per list; or give --older-than, as in 30d',
    );
  }
  return { kinds, maxRetained: Number(last) };
}

function parseAge(given: string): number {
  const moment = parseMoment(given, systemClock.now());
  if (moment === undefined) throw new InvalidArgumentError('It must be an age such as 30d, 12h or 90m, or a date.');
  return moment;
}
