// `coffer import file`, or `coffer import` for short: restores data from a file of `coffer export`.
import process from 'node:process';
import { Command } from 'commander';
import type { ImportFileResult } from '../../transfer/export/export.ts';
import { loadTarget, transferMode, withCommonOptions, type CommonOptions, type TransferOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { withProgress } from '../progress.ts';
import { print, printError } from '../terminal.ts';

interface ImportFileCommandOptions extends CommonOptions, TransferOptions {
  readonly toConfig?: string;
  readonly verify?: true;
}

const examples = `
Restores objects, timestamps, tombstones, permissions and list clocks unchanged into the backends of the current
configuration, or of --to-config. Memberships follow from the members of the groups. Creates missing tables. Nothing else
may use the target meanwhile.

With "-" the data comes from standard input, plain or compressed by gzip, through a temporary file in TMPDIR.

The command reads the whole file first: a truncated or changed file is refused before anything is written. Afterwards it
compares the clock and the counts of every list with the file; --verify reads all data back and compares digests. Exits
with ${exitCodes.failed} if anything differs.

Examples:
  coffer import file backup.ndjson
  coffer import file backup.ndjson.gz --to-config new.ini --verify
  coffer import file backup.ndjson.gz --resume         # after an interruption
  coffer import file backup.ndjson.gz --verify-only
  zstd -d < backup.ndjson.zst | coffer import -        # short for "import file -"
`;

const standardInput = 'standard input';

export function importFileCommand(): Command {
  const file = new Command('file')
    .description('from a file of "coffer export"')
    .argument('<file>', 'file to read; .gz is decompressed, - is standard input')
    .option('--to-config <file>', 'configuration file with the target backends (default: the current configuration)')
    .option(
      '--resume',
      'repeat an interrupted import, or an earlier one of the same store: delete what it left, and nothing else',
    )
    .option('--empty-target', 'delete all data in the target first')
    .option('--verify', 'read all data back afterwards')
    .option('--verify-only', 'compare only, write nothing')
    .addHelpText('after', examples)
    .action(async (path: string, _options, command: Command) => {
      await importFile(path, command.optsWithGlobals<ImportFileCommandOptions>());
    });
  return withCommonOptions(file).helpOption('-h, --help', 'show this help').exitOverride();
}

async function importFile(path: string, options: ImportFileCommandOptions): Promise<void> {
  const { importFrom } = await import('../../transfer/export/export.ts');
  const { ExportRefused } = await import('../../transfer/export/export-file.ts');
  const { withSpooled } = await import('../../transfer/export/spooled-input.ts');
  if (path === '-' && process.stdin.isTTY) {
    throw new Exit(exitCodes.usage, 'standard input is a terminal: redirect an export to it, as in < backup.ndjson');
  }
  const mode = transferMode(options);
  try {
    const settings = loadTarget(options);
    const result = await withProgress(options.quiet, (onProgress) => {
      const work = (file: string): Promise<ImportFileResult> =>
        importFrom(file, settings, {
          mode,
          verifies: options.verify === true || mode === 'verify',
          ...(onProgress === undefined ? {} : { onProgress }),
        });
      return path === '-' ? withSpooled(process.stdin, standardInput, work) : work(path);
    });
    conclude(path === '-' ? standardInput : path, result, options);
  } catch (error) {
    if (error instanceof ExportRefused) throw new Exit(exitCodes.failed, error.message);
    if (mode !== 'verify' && !(error instanceof Exit)) {
      printError('The import is incomplete. Fix the cause, then repeat it with --resume.');
    }
    throw error;
  }
}

function conclude(path: string, { summary, differences }: ImportFileResult, options: ImportFileCommandOptions): void {
  for (const difference of differences) printError(difference);
  if (differences.length > 0) throw new Exit(exitCodes.failed, `the target differs from ${path}`);
  if (options.quiet === true) return;
  const { lists, objects, tombstones, permissions } = summary;
  print(`${lists} lists, ${objects} objects, ${tombstones} tombstones, permissions of ${permissions} objects`);
  if (options.verify === true || options.verifyOnly === true) print('All data was read back and is equal.');
}
