// `coffer purge-deleted`: deletes old tombstones.
import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { date, duration } from '../../settings/readers.ts';
import { loadDurable, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { print } from '../terminal.ts';

interface PurgeCommandOptions extends CommonOptions {
  readonly olderThan?: number;
}

const examples = `
Deleted objects leave tombstones, from which clients learn of the deletion. The service keeps tombstones forever. A client
that last synchronised before a purged deletion may miss it. Live objects are never deleted. The service may run: the work
is done in small transactions.

Examples:
  coffer purge-deleted record collection 10000      keep the newest 10000 per list of these kinds
  coffer purge-deleted --older-than 30d             delete all tombstones older than 30 days
  coffer purge-deleted --older-than 12h record      delete those of records older than 12 hours (m: minutes)
  coffer purge-deleted --older-than 2026-01-31      delete all from before that day, in UTC
`;

export function purgeDeletedCommand(): Command {
  return new Command('purge-deleted')
    .description('delete tombstones older than an age, or beyond a number per list')
    .usage('[options] <kind...> <max-retained>\n       coffer purge-deleted [options] --older-than <age> [kind...]')
    .argument('[kind...]', 'kinds of object (bucket, group, collection, record), then the number to keep per list')
    .option('--older-than <age>', 'delete tombstones of this age (30d, 12h, 90m) or from before a date', parseAge)
    .addHelpText('after', examples)
    .action(async (words: readonly string[], _options, command: Command) => {
      const options = command.optsWithGlobals<PurgeCommandOptions>();
      const limits = readLimits(words, options.olderThan);
      const { purgeDeleted } = await import('../../maintenance/deletions.ts');
      const { findVocabulary } = await import('../../app/plugins.ts');
      const settings = loadDurable(options);
      const { kindNames } = await findVocabulary(settings);
      print(String(await purgeDeleted(settings, { ...limits, knownKinds: kindNames })));
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
    if (isNumber) throw new Exit(exitCodes.usage, 'give either --older-than or the number to keep per list, not both');
    return { kinds: words, before };
  }
  const kinds = words.slice(0, -1);
  if (kinds.length === 0 || !isNumber) {
    throw new Exit(
      exitCodes.usage,
      'give one or more kinds, then the number of tombstones to keep per list; or give --older-than, as in 30d',
    );
  }
  return { kinds, maxRetained: Number(last) };
}

function parseAge(given: string): number {
  const time = parseAgeOrDate(given, systemClock.now());
  if (time === undefined) throw new InvalidArgumentError('It must be an age such as 30d, 12h or 90m, or a date.');
  return time;
}

const ages = duration({ min: 0 });
const dates = date();

/**
 * Returns the time of an age such as `30d` or `12h` before now, or of a date such as `2026-01-31`, in milliseconds since 1970
 * UTC; `undefined` for any other text.
 */
export function parseAgeOrDate(given: string, now: number): number | undefined {
  // A number without a unit would be ambiguous.
  const age = /\d$/.test(given) ? undefined : ages.read(given);
  if (age?.kind === 'value') return Math.floor(now - age.value * 1000);
  const reading = dates.read(given);
  return reading.kind === 'value' ? reading.value.time : undefined;
}
