// `coffer copy`: copies all data to another backend and compares the two.
import { Command } from 'commander';
import type { CopyResult } from '../../transfer/copy/copy.ts';
import { loadSettings } from '../../backends/load-settings.ts';
import type { Settings } from '../../settings/settings.ts';
import { loadForBackends, transferMode, type CommonOptions, type TransferOptions } from '../common.ts';
import { formatList, formatTable } from '../comparison-table.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { withProgress } from '../progress.ts';
import { print, printError } from '../terminal.ts';

interface CopyCommandOptions extends CommonOptions, TransferOptions {
  readonly from?: string;
  readonly to?: string;
  readonly fromConfig?: string;
  readonly toConfig?: string;
  readonly details?: true;
}

const examples = `
Copies objects, tombstones, permissions and list clocks unchanged, then reads both backends and compares them list by
list. Exits with ${exitCodes.failed} if they differ. Does not copy the cache.

A URL names storage and permissions together:
  sqlite:relative/file, sqlite:///absolute/file
  postgresql://user:password@host:port/database   missing tables are created
  redis://:password@host:port/database            rediss:// uses TLS
  redis+cluster://host:port,host:port             some nodes of a cluster

Use --from-config or --to-config when storage and permissions have different URLs, when keys have a prefix, or to keep
passwords out of the process list. These options ignore environment variables. The default source is the current
configuration.

Nothing else may write to the target. The source may be in use, but objects that change during the copy may differ. For
a short interruption, copy while the service runs, set readonly = true, then run the command again with --resume, which
copies only the changes.

Keep userid_hmac_secret: with a different one all user ids change, and users lose access to their data.

Examples:
  coffer copy --to postgresql://coffer@db.example.org/coffer
  coffer copy --from sqlite:data/coffer.sqlite3 --to-config new.ini
  coffer copy --from redis://127.0.0.1:6379/0 --to postgresql://coffer@db.example.org/coffer
  coffer copy --from-config old.ini --to-config new.ini --resume
  coffer copy --from-config old.ini --to-config new.ini --verify-only --details
`;

export function copyCommand(): Command {
  return new Command('copy')
    .description('copy all data to another backend and compare the two')
    .option('--from <url>', 'source (default: the current configuration)')
    .option('--from-config <file>', 'configuration file with the source backends')
    .option('--to <url>', 'target')
    .option('--to-config <file>', 'configuration file with the target backends')
    .option('--resume', 'continue an interrupted copy, or update an earlier one')
    .option('--empty-target', 'delete all data in the target first')
    .option('--verify-only', 'compare only, write nothing')
    .option('--details', 'print a line for each compared list')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await copy(command.optsWithGlobals<CopyCommandOptions>());
    });
}

async function copy(options: CopyCommandOptions): Promise<void> {
  const mode = transferMode(options);
  if ((options.to === undefined) === (options.toConfig === undefined)) {
    throw new Exit(exitCodes.usage, 'give the target: either --to or --to-config');
  }
  if (options.from !== undefined && options.fromConfig !== undefined) {
    throw new Exit(exitCodes.usage, 'give one source: either --from or --from-config');
  }
  const { CopyRefused, settingsOfUrl } = await import('../../transfer/copy/places.ts');
  const { copyStores } = await import('../../transfer/copy/copy.ts');
  const read = (url: string | undefined, file: string | undefined): Settings | undefined => {
    if (url !== undefined) return settingsOfUrl(url);
    return file === undefined ? undefined : loadSettings({ configFile: file, environment: {}, purpose: 'backends' });
  };
  try {
    const target = read(options.to, options.toConfig)!;
    const source = read(options.from, options.fromConfig) ?? loadForBackends(options);
    const result = await withProgress(options.quiet, (onProgress) =>
      copyStores({
        source,
        target,
        mode,
        ...(onProgress === undefined ? {} : { onPlaces: announce, onProgress }),
        ...(options.details === true ? { onList: (compared) => print(formatList(compared)) } : {}),
      }),
    );
    report(result, options);
  } catch (error) {
    if (error instanceof CopyRefused) throw new Exit(exitCodes.failed, error.message);
    if (mode !== 'verify') printError('The copy is incomplete. Fix the cause, then continue with --resume.');
    throw error;
  }
}

function announce(source: string, target: string): void {
  printError(`From ${source}\nto   ${target}`);
}

function report({ parts, isEqual }: CopyResult, { quiet, verifyOnly }: CopyCommandOptions): void {
  if (quiet !== true) for (const line of formatTable(parts)) print(line);
  if (isEqual) {
    if (quiet !== true) print('Source and target are equal.');
    return;
  }
  for (const { differences } of parts) for (const difference of differences) printError(difference);
  const advice = verifyOnly === true ? '' : '; if the source changed during the copy, run it again with --resume';
  throw new Exit(exitCodes.failed, `source and target differ${advice}`);
}
