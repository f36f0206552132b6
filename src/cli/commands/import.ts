// `coffer import kinto`: imports all data from a running server over its HTTP API and compares the two.
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import type { ImportOptions, ImportResult } from '../../transfer/import/import.ts';
import { loadTarget, withCommonOptions, type CommonOptions } from '../common.ts';
import { formatList, formatTable } from '../comparison-table.ts';
import { credentialHeaders, withCredentials, type CredentialOptions } from '../credentials.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { formatSeconds, withProgress } from '../progress.ts';
import { print, printable, printError } from '../terminal.ts';
import { importFileCommand } from './import-file.ts';

interface ImportCommandOptions extends CommonOptions, CredentialOptions {
  readonly from?: string;
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
Imports buckets, groups, collections and records with their ids, timestamps, tombstones, permissions and list clocks into
the backends of the current configuration, or of --to-config. Clients can continue to synchronise. Afterwards the command
reads every list again and compares it. It writes nothing to the source.

Credentials: use a user who can see everything. Kinto shows the permissions of an object to principals in its "write"
entry, and in the history (plugin history) to users who may read the bucket; the command uses both. Objects whose
permissions are not visible are imported without permissions of their own, so only the permissions of their collection
and bucket apply. The command lists them and exits with ${exitCodes.failed} unless --accept-unseen is given. The credentials may be in
the environment: COFFER_IMPORT_AUTH=user:password or COFFER_IMPORT_BEARER=token.

Secrets: copy userid_hmac_secret and default_bucket_hmac_secret, from which user ids of Basic authentication and ids of
personal buckets are derived. The command compares them and warns.

The source may be in use. To move a service: import while the source runs, set readonly = true there, import again with
--resume, which fetches only the changes, then redirect the clients. Nothing else may write to the target before that.

Exit codes:
  ${exitCodes.done}  both sides are equal
  ${exitCodes.failed}  something differs, was left out, or is unreachable
  ${exitCodes.usage}  the command line is wrong

Examples:
  coffer import kinto --from https://kinto.example.org/v1 --auth admin:secret --dry-run
  coffer import kinto --from https://kinto.example.org/v1 --auth admin:secret
  coffer import kinto --from https://kinto.example.org/v1 --auth admin:secret --resume --report left-out.txt
  coffer import kinto --from http://127.0.0.1:8888/v1 --bearer TOKEN --to-config new.ini --buckets blog,shop
  coffer import kinto --from http://127.0.0.1:8888/v1 --header "X-Key: abc" --verify-only --details
`;

/** Returns the command, with a subcommand for each kind of source. */
export function importCommand(): Command {
  const kinto = new Command('kinto')
    .description('from a running Kinto, or a server with its protocol, over HTTP')
    .requiredOption('--from <url>', 'root of the API, usually ending in /v1');
  withCredentials(kinto)
    .option('--to-config <file>', 'configuration file with the target backends (default: the current configuration)')
    .option('--buckets <ids>', 'ids of the buckets to import, separated by commas (default: all)')
    .option('--history', 'import history entries too')
    .option('--resume', 'continue an interrupted import, or update an earlier one')
    .option('--verify-only', 'compare only, write nothing')
    .option('--dry-run', 'list what would be imported, write nothing')
    .option('--accept-unseen', `do not exit with ${exitCodes.failed} for objects without visible permissions`)
    .option('--report <file>', 'file for the names of all objects left out or imported without permissions')
    .option('--concurrency <n>', 'maximum number of concurrent requests', '4')
    .option('--details', 'print a line for each compared list')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await importKinto(command.optsWithGlobals<ImportCommandOptions>());
    });
  withCommonOptions(kinto).helpOption('-h, --help', 'show this help').exitOverride();
  return new Command('import')
    .description('import data from another server or from a file')
    .addCommand(importFileCommand(), { isDefault: true })
    .addCommand(kinto);
}

async function importKinto(options: ImportCommandOptions): Promise<void> {
  const { ImportRefused } = await import('../../transfer/import/transport.ts');
  const isQuiet = options.quiet === true;
  const mode = modeOf(options);
  const work: ImportOptions = {
    from: {
      root: rootOf(options.from ?? ''),
      headers: credentialHeaders(options, 'COFFER_IMPORT'),
      concurrency: concurrencyOf(options.concurrency),
      onWait: (reason, milliseconds) => {
        if (!isQuiet) printError(`${reason}; waiting ${formatSeconds(milliseconds / 1000)}`);
      },
    },
    mode,
    buckets: options.buckets?.split(',').map((id) => id.trim()),
    withHistory: options.history,
    onRoot: ({ product, userId }, warnings) => {
      if (!isQuiet) printError(printable(`From ${product} as ${userId ?? 'an anonymous caller'}`));
      for (const warning of warnings) printError(printable(`Warning: ${warning}`));
    },
    ...(options.details === true ? { onList: (compared) => print(formatList(compared)) } : {}),
  };
  try {
    const settings = loadTarget(options);
    const { importWith } = await import('../../transfer/import/import.ts');
    if (options.dryRun === true) {
      const { survey } = await import('../../transfer/import/survey.ts');
      for (const line of await survey(settings, work)) print(printable(line));
      return;
    }
    const result = await withProgress(options.quiet, (update) =>
      importWith(settings, {
        ...work,
        ...(update === undefined
          ? {}
          : {
              onProgress: (read, total) => update('entries read', read, total),
              onIndexed: (done, total) => update('indexed objects', done, total),
            }),
      }),
    );
    conclude(result, options);
  } catch (error) {
    if (error instanceof ImportRefused) throw new Exit(exitCodes.failed, error.message);
    if (mode !== 'verify' && !(error instanceof Exit)) {
      printError('The import is incomplete. Fix the cause, then continue with --resume.');
    }
    throw error;
  }
}

function modeOf({ resume, verifyOnly, dryRun }: ImportCommandOptions): ImportOptions['mode'] {
  if ([resume, verifyOnly, dryRun].filter((flag) => flag === true).length > 1) {
    throw new Exit(exitCodes.usage, 'give only one of --resume, --verify-only and --dry-run');
  }
  if (resume === true) return 'resume';
  return verifyOnly === true ? 'verify' : 'refuse';
}

function rootOf(from: string): URL {
  const url = URL.canParse(from) ? new URL(from) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Exit(exitCodes.usage, '--from must be the root of an API, such as https://kinto.example.org/v1');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Exit(exitCodes.usage, 'the URL must not contain credentials; use --auth');
  }
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

function concurrencyOf(given: string): number {
  const count = Number(given);
  if (Number.isInteger(count) && count >= 1 && count <= 64) return count;
  throw new Exit(exitCodes.usage, '--concurrency must be a number from 1 to 64');
}

const maxNamed = 20;

function conclude(result: ImportResult, { quiet, report, acceptUnseen, verifyOnly }: ImportCommandOptions): void {
  const { parts, isEqual, unseen } = result;
  const [problems, notes] = [result.problems.map(printable), result.notes.map(printable)];
  if (quiet !== true) for (const line of formatTable(parts)) print(line);
  const unseenLines = unseen.map(
    (uri) => `${printable(uri)}: the source does not show its permissions, so it was imported without any`,
  );
  if (report !== undefined) {
    const text = [...notes, ...problems, ...unseenLines].map((line) => `${line}\n`).join('');
    // The names of objects may be confidential.
    writeFileSync(report, text, { mode: 0o600 });
  }
  nameSome(notes, report);
  nameSome(problems, report);
  nameSome(unseenLines, report);
  for (const { differences } of parts) for (const difference of differences) printError(difference);
  const reasons = [
    ...(isEqual ? [] : [`source and target differ${verifyOnly === true ? '' : '; run it again with --resume'}`]),
    ...(problems.length === 0 ? [] : [`not imported: ${problems.length}`]),
    ...(unseen.length === 0 || acceptUnseen === true ? [] : [`imported without permissions: ${unseen.length} objects`]),
  ];
  if (reasons.length > 0) throw new Exit(exitCodes.failed, reasons.join('; '));
  if (quiet !== true) print('Source and target are equal.');
}

function nameSome(lines: readonly string[], report: string | undefined): void {
  for (const line of lines.slice(0, maxNamed)) printError(line);
  const more = lines.length - maxNamed;
  if (more > 0)
    printError(`and ${more} more; ${report === undefined ? '--report FILE lists all' : `${report} lists all`}`);
}
