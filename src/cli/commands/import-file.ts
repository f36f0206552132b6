// `coffer import file`, or `coffer import` for short: fills backends from what `coffer export` has written.
import process from 'node:process';
import { Command } from 'commander';
import type { ImportFileOptions, ImportFileResult } from '../../app/export/export.ts';
import { loadSettings } from '../../settings/load.ts';
import { loadDurable, requireDurable, withCommonOptions, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { printError, print } from '../terminal.ts';

interface ImportFileCommandOptions extends CommonOptions {
  readonly toConfig?: string;
  readonly resume?: true;
  readonly emptyTarget?: true;
  readonly verify?: true;
  readonly verifyOnly?: true;
}

const examples = `
Reads a file of "coffer export" and makes the backends of the configuration in force, or of --to-config, what they were:
objects, timestamps, tombstones, permissions, memberships and the clocks of all lists, exactly. Tables are made when they
are missing. Nothing may use the target meanwhile.

With "-" it is read from standard input, compressed by gzip or not, and kept in a temporary file of TMPDIR meanwhile.

The file is read whole first: one that was cut off or changed is refused before anything is written. Afterwards the clock
and the counts of every list are compared with those of the file; with --verify everything is read back, and compared by
digests. The command ends with 1 if anything is different.

Examples:
  coffer import file backup.ndjson
  coffer import file backup.ndjson.gz --to-config new.ini --verify
  coffer import file backup.ndjson.gz --resume          # after one that was cut off
  coffer import file backup.ndjson.gz --verify-only
  zstd -d < backup.ndjson.zst | coffer import -         # the same as "import file -"
`;

const standardInput = 'standard input';

/** The command. */
export function importFileCommand(): Command {
  const file = new Command('file')
    .description('from a file that "coffer export" has written')
    .argument('<file>', 'the file; compressed if its name ends in .gz; - is standard input')
    .option('--to-config <file>', 'the backends of this configuration file, and not of the one in force')
    .option('--resume', 'go on with an import of the same file that was cut off')
    .option('--empty-target', 'delete everything in the target first')
    .option('--verify', 'read everything back afterwards')
    .option('--verify-only', 'write nothing, only compare')
    .addHelpText('after', examples)
    .action(async (path: string, _options, command: Command) => {
      await importFile(path, command.optsWithGlobals<ImportFileCommandOptions>());
    });
  return withCommonOptions(file).helpOption('-h, --help', 'tell about this command').exitOverride();
}

async function importFile(path: string, options: ImportFileCommandOptions): Promise<void> {
  const { importFrom } = await import('../../app/export/export.ts');
  const { ExportRefused } = await import('../../app/export/export-file.ts');
  const { withSpooled } = await import('../../app/export/spooled-input.ts');
  if (path === '-' && process.stdin.isTTY) {
    throw new Exit(exitCodes.usage, 'standard input is a terminal: send an export there, such as with < backup.ndjson');
  }
  const mode = modeOf(options);
  const isQuiet = options.quiet === true;
  const progress = new Progress(process.stderr, () => performance.now());
  try {
    const settings =
      options.toConfig === undefined
        ? loadDurable(options)
        : requireDurable(loadSettings({ configFile: options.toConfig, environment: {}, purpose: 'backends' }));
    const work = (file: string): Promise<ImportFileResult> =>
      importFrom(file, settings, {
        mode,
        verifies: options.verify === true || mode === 'verify',
        ...(isQuiet ? {} : { onProgress: progress.update.bind(progress) }),
      });
    const result = path === '-' ? await withSpooled(process.stdin, standardInput, work) : await work(path);
    if (!isQuiet) progress.finish();
    conclude(path === '-' ? standardInput : path, result, options);
  } catch (error) {
    if (!isQuiet) progress.finish();
    if (error instanceof ExportRefused) throw new Exit(exitCodes.failed, error.message);
    if (mode !== 'verify' && !(error instanceof Exit)) {
      printError('The import is not complete. Once the cause is gone, go on with --resume.');
    }
    throw error;
  }
}

function modeOf({ resume, emptyTarget, verifyOnly }: ImportFileCommandOptions): ImportFileOptions['mode'] {
  if ([resume, emptyTarget, verifyOnly].filter((flag) => flag === true).length > 1) {
    throw new Exit(exitCodes.usage, 'give one of --resume, --empty-target and --verify-only');
  }
  if (resume === true) return 'resume';
  if (emptyTarget === true) return 'empty';
  return verifyOnly === true ? 'verify' : 'refuse';
}

function conclude(path: string, { summary, differences }: ImportFileResult, options: ImportFileCommandOptions): void {
  for (const difference of differences) printError(difference);
  if (differences.length > 0) throw new Exit(exitCodes.failed, `the target is not what ${path} says`);
  if (options.quiet === true) return;
  const { lists, objects, tombstones, permissions } = summary;
  print(`${lists} lists, ${objects} objects, ${tombstones} tombstones, permissions of ${permissions} objects`);
  if (options.verify === true || options.verifyOnly === true) print('All of it was read back, and is the same.');
}
