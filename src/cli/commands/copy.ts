// `coffer copy`: moves everything to another backend, and proves that it arrived.
import process from 'node:process';
import { Command } from 'commander';
import type { CopyOptions, CopyResult } from '../../app/copy/copy.ts';
import { loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/settings.ts';
import { loadForBackends, type CommonOptions } from '../common.ts';
import { formatList, formatTable } from '../comparison-table.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { printError, print } from '../terminal.ts';

interface CopyCommandOptions extends CommonOptions {
  readonly from?: string;
  readonly to?: string;
  readonly fromConfig?: string;
  readonly toConfig?: string;
  readonly resume?: true;
  readonly emptyTarget?: true;
  readonly verifyOnly?: true;
  readonly details?: true;
}

const examples = `
Copies objects, tombstones, permissions and the clocks of all lists exactly as they are, then reads both ends and
compares them list by list. It ends with 1 if anything is different. The cache is not copied.

A URL stands for storage and permissions together:
  sqlite:relative/file, sqlite:///absolute/file
  postgresql://user:password@host:port/database   tables are made when they are missing
  redis://:password@host:port/database            rediss:// over TLS
  redis+cluster://host:port,host:port             some nodes of a cluster
Where the two are apart, keys have a prefix of their own, or a password shall not be seen in the list of processes, name a
configuration file; the environment has no say in it. Without --from and --from-config the source is what the
configuration in force names.

Nothing else may write to the target. The source may be in use, but then only what does not change meanwhile is the same
afterwards, and the comparison says what is not. So copy first while the service runs, then set readonly = true, and run
it again with --resume: that copies only what has changed.

Keep userid_hmac_secret: with another one every user gets another id, and loses access to their data.

Examples:
  coffer copy --to postgresql://coffer@db.example.org/coffer
  coffer copy --from sqlite:data/coffer.sqlite3 --to-config new.ini
  coffer copy --from redis://127.0.0.1:6379/0 --to postgresql://coffer@db.example.org/coffer
  coffer copy --from-config old.ini --to-config new.ini --resume
  coffer copy --from-config old.ini --to-config new.ini --verify-only --details
`;

/** The command. */
export function copyCommand(): Command {
  return new Command('copy')
    .description('copy everything to another backend, exactly')
    .option('--from <url>', 'where it comes from')
    .option('--from-config <file>', 'the same: the backends of a configuration file')
    .option('--to <url>', 'where it goes')
    .option('--to-config <file>', 'the same: the backends of a configuration file')
    .option('--resume', 'make a copy that was cut off, or an earlier one, equal to the source')
    .option('--empty-target', 'delete everything in the target first')
    .option('--verify-only', 'write nothing, only compare')
    .option('--details', 'print a line for each list compared')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await copy(command.optsWithGlobals<CopyCommandOptions>());
    });
}

async function copy(options: CopyCommandOptions): Promise<void> {
  const mode = modeOf(options);
  if ((options.to === undefined) === (options.toConfig === undefined)) {
    throw new Exit(exitCodes.usage, 'say where it goes: either --to or --to-config');
  }
  if (options.from !== undefined && options.fromConfig !== undefined) {
    throw new Exit(exitCodes.usage, 'say where it comes from: either --from or --from-config');
  }
  const { CopyRefused, settingsOfUrl } = await import('../../app/copy/places.ts');
  const { copyStores } = await import('../../app/copy/copy.ts');
  const read = (url: string | undefined, file: string | undefined): Settings | undefined => {
    if (url !== undefined) return settingsOfUrl(url);
    return file === undefined ? undefined : loadSettings({ configFile: file, environment: {}, purpose: 'backends' });
  };
  const progress = new Progress(process.stderr, () => performance.now());
  const isQuiet = options.quiet === true;
  try {
    const target = read(options.to, options.toConfig)!;
    const source = read(options.from, options.fromConfig) ?? loadForBackends(options);
    const result = await copyStores({
      source,
      target,
      mode,
      ...(isQuiet ? {} : { onPlaces: announce, onProgress: (...args) => progress.update(...args) }),
      ...(options.details === true ? { onList: (compared) => print(formatList(compared)) } : {}),
    });
    if (!isQuiet) progress.finish();
    report(result, options);
  } catch (error) {
    if (!isQuiet) progress.finish();
    if (error instanceof CopyRefused) throw new Exit(exitCodes.failed, error.message);
    if (mode !== 'verify') printError('The copy is not complete. Once the cause is gone, go on with --resume.');
    throw error;
  }
}

function modeOf({ resume, emptyTarget, verifyOnly }: CopyCommandOptions): CopyOptions['mode'] {
  const given = [resume, emptyTarget, verifyOnly].filter((flag) => flag === true).length;
  if (given > 1) throw new Exit(exitCodes.usage, 'give one of --resume, --empty-target and --verify-only');
  if (resume === true) return 'resume';
  if (emptyTarget === true) return 'empty';
  return verifyOnly === true ? 'verify' : 'refuse';
}

function announce(source: string, target: string): void {
  printError(`From ${source}\nto   ${target}`);
}

function report({ parts, isEqual }: CopyResult, { quiet, verifyOnly }: CopyCommandOptions): void {
  if (quiet !== true) for (const line of formatTable(parts)) print(line);
  if (isEqual) {
    if (quiet !== true) print('Both are the same.');
    return;
  }
  for (const { differences } of parts) for (const difference of differences) printError(difference);
  const advice = verifyOnly === true ? '' : '; if the source was written to meanwhile, run it again with --resume';
  throw new Exit(exitCodes.failed, `the source and the target are not the same${advice}`);
}
