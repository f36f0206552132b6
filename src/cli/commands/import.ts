// `coffer import kinto`: brings everything over from a running server, through its HTTP API, and proves that it arrived.
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { Command } from 'commander';
import type { ImportOptions, ImportResult } from '../../app/import/import.ts';
import { loadSettings } from '../../settings/load.ts';
import { loadDurable, requireDurable, withCommonOptions, type CommonOptions } from '../common.ts';
import { formatList, formatTable } from '../comparison-table.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { formatSeconds, Progress } from '../progress.ts';
import { printError, print } from '../terminal.ts';
import { importFileCommand } from './import-file.ts';

interface ImportCommandOptions extends CommonOptions {
  readonly from?: string;
  readonly auth?: string;
  readonly bearer?: string;
  readonly header?: readonly string[];
  readonly toConfig?: string;
  readonly buckets?: string;
  readonly history?: true;
  readonly resume?: true;
  readonly verifyOnly?: true;
  readonly dryRun?: true;
  readonly acceptUnseen?: true;
  readonly report?: string;
  readonly concurrency: string;
  readonly details?: true;
}

const examples = `
Reads buckets, groups, collections and records with their ids, timestamps, tombstones, permissions and the clocks of the
lists, and writes them exactly as they are into the backends of the configuration in force, or of --to-config. Clients
go on where they were: what they have seen stays seen. Then every list is read again and compared. Nothing is written to
the source.

Who to import as: somebody whom the source shows everything. Kinto shows the permissions of an object to those who are in
its own "write" entry, and in the history (plugin history) to those who may read the bucket; both are used. Objects whose
permissions are shown in neither are imported without any of their own, so that only the permissions of their
collection and bucket let anybody in; each is named, and the command ends with 1 unless --accept-unseen is given.

Secrets: user ids of Basic authentication and ids of personal buckets are derived from userid_hmac_secret and
default_bucket_hmac_secret. Take them along; the command compares and warns.

The source may be in use: what is changed meanwhile comes with the next run with --resume, which asks each list for what
is newer than what is here. So: run it while the source serves, set "readonly = true" there, run it with --resume, move the
clients. Nothing else may write to the target until then.

The password may stand in the environment instead of the command line: COFFER_IMPORT_AUTH=user:password, or
COFFER_IMPORT_BEARER=token.

Ends with 0 when both sides are the same, with 1 when something is different, left out, or cannot be reached, with 2
when the command line is wrong.

Examples:
  coffer import kinto --from https://kinto.example.org/v1 --auth admin:secret --dry-run
  coffer import kinto --from https://kinto.example.org/v1 --auth admin:secret
  coffer import kinto --from https://kinto.example.org/v1 --auth admin:secret --resume --report left-out.txt
  coffer import kinto --from http://127.0.0.1:8888/v1 --bearer TOKEN --to-config new.ini --buckets blog,shop
  coffer import kinto --from http://127.0.0.1:8888/v1 --header "X-Key: abc" --verify-only --details
`;

/** The command, with one for each kind of source. */
export function importCommand(): Command {
  const kinto = new Command('kinto')
    .description('from a running Kinto, or any server of its protocol, over HTTP')
    .requiredOption('--from <url>', 'root of its API, usually with /v1')
    .option('--auth <user:password>', 'credentials for Basic authentication')
    .option('--bearer <token>', 'an access token instead')
    .option('--header <name: value>', 'a header to send along; may be given several times', collect)
    .option('--to-config <file>', 'the backends of this configuration file, and not of the one in force')
    .option('--buckets <ids>', 'only these buckets, separated by commas')
    .option('--history', 'entries of the history as well')
    .option('--resume', 'go on with an import that was cut off, or bring an earlier one up to date')
    .option('--verify-only', 'write nothing, only compare')
    .option('--dry-run', 'write nothing, only tell what there is to import')
    .option('--accept-unseen', 'objects whose permissions are not shown are no reason to end with 1')
    .option('--report <file>', 'write the name of everything that was left out or came without permissions to a file')
    .option('--concurrency <n>', 'requests at the same time', '4')
    .option('--details', 'print a line for each list')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await importKinto(command.optsWithGlobals<ImportCommandOptions>());
    });
  withCommonOptions(kinto).helpOption('-h, --help', 'tell about this command').exitOverride();
  return new Command('import')
    .description('bring data over from another server, or from a file')
    .addCommand(importFileCommand(), { isDefault: true })
    .addCommand(kinto);
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

async function importKinto(options: ImportCommandOptions): Promise<void> {
  const { ImportRefused } = await import('../../app/import/transport.ts');
  const isQuiet = options.quiet === true;
  const progress = new Progress(process.stderr, () => performance.now());
  const mode = modeOf(options);
  const work: ImportOptions = {
    from: {
      root: rootOf(options.from ?? ''),
      headers: headersOf(options),
      concurrency: concurrencyOf(options.concurrency),
      onWait: (reason, milliseconds) => {
        if (!isQuiet) printError(`${reason}; waiting ${formatSeconds(milliseconds / 1000)}`);
      },
    },
    mode,
    buckets: options.buckets?.split(',').map((id) => id.trim()),
    withHistory: options.history,
    onRoot: ({ product, userId }, warnings) => {
      if (!isQuiet) printError(`From ${product} as ${userId ?? 'nobody (anonymously)'}`);
      for (const warning of warnings) printError(`Warning: ${warning}`);
    },
    ...(isQuiet ? {} : { onProgress: (read, total) => progress.update('entries read', read, total) }),
    ...(options.details === true ? { onList: (compared) => print(formatList(compared)) } : {}),
  };
  try {
    const settings = settingsOf(options);
    const { importWith } = await import('../../app/import/run.ts');
    if (options.dryRun === true) {
      const { survey } = await import('../../app/import/survey.ts');
      for (const line of await survey(settings, work)) print(line);
      return;
    }
    const result = await importWith(settings, work);
    if (!isQuiet) progress.finish();
    conclude(result, options);
  } catch (error) {
    if (!isQuiet) progress.finish();
    if (error instanceof ImportRefused) throw new Exit(exitCodes.failed, error.message);
    if (mode !== 'verify' && !(error instanceof Exit)) {
      printError('The import is not complete. Once the cause is gone, go on with --resume.');
    }
    throw error;
  }
}

function settingsOf(options: ImportCommandOptions): ReturnType<typeof loadSettings> {
  if (options.toConfig === undefined) return loadDurable(options);
  return requireDurable(loadSettings({ configFile: options.toConfig, environment: {}, purpose: 'backends' }));
}

function modeOf({ resume, verifyOnly, dryRun }: ImportCommandOptions): ImportOptions['mode'] {
  if ([resume, verifyOnly, dryRun].filter((flag) => flag === true).length > 1) {
    throw new Exit(exitCodes.usage, 'give one of --resume, --verify-only and --dry-run');
  }
  if (resume === true) return 'resume';
  return verifyOnly === true ? 'verify' : 'refuse';
}

function rootOf(from: string): URL {
  const url = URL.canParse(from) ? new URL(from) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Exit(exitCodes.usage, '--from is the root of an API, such as https://kinto.example.org/v1');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Exit(exitCodes.usage, 'credentials do not belong into the address; give them with --auth');
  }
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

function headersOf({ auth, bearer, header = [] }: ImportCommandOptions): Readonly<Record<string, string>> {
  const user = auth ?? (bearer === undefined ? process.env['COFFER_IMPORT_AUTH'] : undefined);
  const token = bearer ?? (user === undefined ? process.env['COFFER_IMPORT_BEARER'] : undefined);
  if (user !== undefined && token !== undefined) throw new Exit(exitCodes.usage, 'give either --auth or --bearer');
  if (user !== undefined && !user.includes(':')) throw new Exit(exitCodes.usage, '--auth is user:password');
  const pairs = header.map((text) => {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Exit(exitCodes.usage, '--header is "Name: value"');
    return [name.toLowerCase(), value] as const;
  });
  return {
    ...Object.fromEntries(pairs),
    ...(user === undefined ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function concurrencyOf(given: string): number {
  const count = Number(given);
  if (Number.isInteger(count) && count >= 1 && count <= 64) return count;
  throw new Exit(exitCodes.usage, '--concurrency is a number from 1 to 64');
}

const maxNamed = 20;

function conclude(result: ImportResult, { quiet, report, acceptUnseen, verifyOnly }: ImportCommandOptions): void {
  const { parts, isEqual, unseen, problems } = result;
  if (quiet !== true) for (const line of formatTable(parts)) print(line);
  const unseenLines = unseen.map(
    (uri) => `${uri}: the source does not show its permissions; it has none of its own here`,
  );
  if (report !== undefined) writeFileSync(report, [...problems, ...unseenLines].map((line) => `${line}\n`).join(''));
  nameSome(problems, report);
  nameSome(unseenLines, report);
  for (const { differences } of parts) for (const difference of differences) printError(difference);
  const reasons = [
    ...(isEqual
      ? []
      : [`the source and the target are not the same${verifyOnly === true ? '' : '; run it again with --resume'}`]),
    ...(problems.length === 0 ? [] : [`not imported: ${problems.length}`]),
    ...(unseen.length === 0 || acceptUnseen === true
      ? []
      : [`without permissions of their own: ${unseen.length} objects`]),
  ];
  if (reasons.length > 0) throw new Exit(exitCodes.failed, reasons.join('; '));
  if (quiet !== true) print('Both are the same.');
}

function nameSome(lines: readonly string[], report: string | undefined): void {
  for (const line of lines.slice(0, maxNamed)) printError(line);
  const more = lines.length - maxNamed;
  if (more > 0)
    printError(`and ${more} more; ${report === undefined ? '--report FILE names all' : `all are in ${report}`}`);
}
