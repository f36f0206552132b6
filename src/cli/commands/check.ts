// `coffer check`: validates the configuration and tests the backends without starting the service.
import { statSync } from 'node:fs';
import process from 'node:process';
import { Command, InvalidArgumentError } from 'commander';
import type { Finding } from '../../maintenance/check-backends.ts';
import type { Examined } from '../../settings/load.ts';
import { describeProblem, SettingsError } from '../../settings/problems.ts';
import type { Settings } from '../../settings/settings.ts';
import { examineWith, loadDurable, requireWritable, withConfig, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { printError, print } from '../terminal.ts';

interface CheckOptions extends CommonOptions {
  readonly strict?: true;
  readonly maxObjects: number;
  readonly acceptSecrets?: true;
}

const examples = `
Reports all problems of the settings, plugins, policies and listeners; connects to the backends; lists pending migrations;
and warns about risky settings and about secrets that differ from those of the stored data. Also searches permissions and
groups for unknown principals, such as deleted groups, in at most --max-objects objects and heartbeat_timeout_seconds.
Changes nothing, except that --accept-secrets stores fingerprints of the current secrets with the data.

Exit codes:
  ${exitCodes.done}  the service would start; there may be warnings
  ${exitCodes.failed}  it would not start, or a backend does not respond
  ${exitCodes.checkMigrations}  it would start after \`coffer migrate\`
  ${exitCodes.checkWarnings}  with --strict: it would start, but with warnings

Examples:
  coffer check                                     before the first start, and to find problems
  coffer check --config new.ini --strict           before a deployment
  coffer check --quiet || exit 1                   in a script: print problems and warnings only
`;

export function checkCommand(): Command {
  return new Command('check')
    .description('validate the configuration and test every backend')
    .option(
      '--max-objects <number>',
      'maximum number of objects and of users in groups whose principals are checked; 0 means none',
      parseCount,
      10_000,
    )
    .option('--accept-secrets', 'accept the current secrets as those of the data, after an intended change')
    .option('--strict', `exit with ${exitCodes.checkWarnings} if there are warnings`)
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      // An unanswered connection attempt must not keep the process alive.
      await check(command.optsWithGlobals<CheckOptions>()).finally(() =>
        setTimeout(() => process.exit(), 1000).unref(),
      );
    });
}

function parseCount(given: string): number {
  if (!/^\d{1,9}$/.test(given)) throw new InvalidArgumentError('It must be a whole number of at most nine digits.');
  return Number(given);
}

async function acceptSecrets(options: CheckOptions): Promise<void> {
  const settings = loadDurable(options, 'service');
  requireWritable(settings);
  await (await import('../../maintenance/check-backends.ts')).acceptSecrets(settings);
  if (options.quiet !== true) print('ok       secrets: the current ones are accepted as the secrets of the data');
}

async function check(options: CheckOptions): Promise<void> {
  if (options.acceptSecrets === true) await acceptSecrets(options);
  const counts: Record<Finding['kind'], number> = { ok: 0, warning: 0, pending: 0, problem: 0 };
  const reported = new Set<string>();
  const report = ({ kind, text: bare }: Finding): void => {
    const text = withConfig(bare, options);
    if (reported.has(text)) return;
    reported.add(text);
    counts[kind]++;
    if (kind !== 'ok') printError(`${kind.padEnd(8)} ${text}`);
    else if (options.quiet !== true) print(`${kind.padEnd(8)} ${text}`);
  };
  const examined = examineOrReport(options, report);
  if (examined !== undefined) {
    const { settings, problems } = examined;
    for (const problem of problems) report({ kind: 'problem', text: describeProblem(problem) });
    checkFiles(settings, report);
    const { checkService } = await import('../../app/check.ts');
    await checkService(settings, report, { maxObjects: options.maxObjects, problems });
  }
  conclude(counts, options);
}

function examineOrReport(options: CheckOptions, report: (finding: Finding) => void): Examined | undefined {
  try {
    return examineWith(options, { keepsSecret: false });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.lines) report({ kind: 'problem', text: problem });
    return undefined;
  }
}

/** Warns if other users can read a configuration file with secrets. */
function checkFiles({ file }: Settings, report: (finding: Finding) => void): void {
  report({ kind: 'ok', text: `settings: ${file?.name ?? 'the profile without configuration'}` });
  if (file === null || process.platform === 'win32') return;
  for (const path of file.secretPaths) {
    if ((statSync(path).mode & 0o004) === 0) continue;
    report({ kind: 'warning', text: `${path} contains secrets and is readable by all users. Run: chmod 600 ${path}` });
  }
}

function conclude({ problem, pending, warning }: Record<Finding['kind'], number>, options: CheckOptions): void {
  const warnings = warning === 0 ? '' : warning === 1 ? ' 1 warning.' : ` ${warning} warnings.`;
  if (problem > 0) throw new Exit(exitCodes.failed, `the service would not start.${warnings}`);
  if (pending > 0) throw new Exit(exitCodes.checkMigrations, `run \`coffer migrate\` first.${warnings}`);
  if (warning > 0 && options.strict === true) {
    throw new Exit(exitCodes.checkWarnings, `the service would start, but has warnings.${warnings}`);
  }
  if (options.quiet !== true) print(`The service would start.${warnings}`);
}
