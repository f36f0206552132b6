// `coffer check`: tells whether the service would start, and what is risky, without starting it.
import { statSync } from 'node:fs';
import process from 'node:process';
import { Command, InvalidArgumentError } from 'commander';
import type { Finding } from '../../app/check.ts';
import { findConfigFile, type Examined } from '../../settings/load.ts';
import { describeProblem, SettingsError } from '../../settings/problems.ts';
import type { Settings } from '../../settings/settings.ts';
import { examineWith, loadDurable, namedFile, withConfig, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { printError, print } from '../terminal.ts';

interface CheckOptions extends CommonOptions {
  readonly strict?: true;
  readonly maxObjects: number;
  readonly acceptSecrets?: true;
}

const examples = `
Reads the settings from where \`coffer start\` reads them and tells everything that is wrong with them at once; finds the
plugins, policies and listeners; connects to the backends; tells which migrations are pending; and warns of settings that
work but are risky, and of secrets other than those that the data was written with. It also looks for principals in
permissions and groups that name nothing, such as a group that was deleted: in at most --max-objects objects, and for no
longer than heartbeat_timeout_seconds. It changes nothing, except for --accept-secrets, which keeps fingerprints of the
secrets in force with the data.

Exit codes:
  ${exitCodes.done}  the service would start; there may be warnings
  ${exitCodes.failed}  it would not start, or a backend does not answer
  ${exitCodes.checkMigrations}  it would start once \`coffer migrate\` has run
  ${exitCodes.checkWarnings}  with --strict: it would start, but there are warnings

Examples:
  coffer check                                     before the first start, and to find a fault
  coffer check --config new.ini --strict           before a deployment
  coffer check --quiet || exit 1                   in a script: reports problems and warnings only
`;

/** The command. */
export function checkCommand(): Command {
  return new Command('check')
    .description('validate the configuration and test every backend')
    .option(
      '--max-objects <number>',
      'objects whose permissions, and users in groups whose ids, are looked at; 0: none',
      parseCount,
      10_000,
    )
    .option('--accept-secrets', 'first accept the secrets in force as those of the data, after a change on purpose')
    .option('--strict', `end with ${exitCodes.checkWarnings} when there are warnings`)
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      // A connection that nobody answers on must not keep the process for as long as it is tried.
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
  if (settings.get('readonly')) {
    throw new Exit(exitCodes.failed, 'readonly is set: accept secrets with a configuration that may write');
  }
  await (await import('../../app/check.ts')).acceptSecrets(settings);
  if (options.quiet !== true) print('ok       secrets: those in force are accepted as the secrets of the data');
}

async function check(options: CheckOptions): Promise<void> {
  if (options.acceptSecrets === true) await acceptSecrets(options);
  const counts: Record<Finding['kind'], number> = { ok: 0, warning: 0, pending: 0, problem: 0 };
  const told = new Set<string>();
  const tell = ({ kind, text: bare }: Finding): void => {
    const text = withConfig(bare, options);
    if (told.has(text)) return;
    told.add(text);
    counts[kind]++;
    if (kind !== 'ok') printError(`${kind.padEnd(8)} ${text}`);
    else if (options.quiet !== true) print(`${kind.padEnd(8)} ${text}`);
  };
  const examined = examineOrTell(options, tell);
  if (examined !== undefined) {
    const { settings, problems } = examined;
    for (const problem of problems) tell({ kind: 'problem', text: describeProblem(problem) });
    checkFile(options, settings, tell);
    const { checkService } = await import('../../app/check.ts');
    await checkService(settings, tell, { maxObjects: options.maxObjects, problems });
  }
  conclude(counts, options);
}

function examineOrTell(options: CheckOptions, tell: (finding: Finding) => void): Examined | undefined {
  try {
    return examineWith(options, { keepsSecret: false });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.lines) tell({ kind: 'problem', text: problem });
    return undefined;
  }
}

/** The configuration holds secrets. */
function checkFile(options: CheckOptions, settings: Settings, tell: (finding: Finding) => void): void {
  if (settings.file === null) {
    tell({ kind: 'ok', text: 'settings: the profile without configuration' });
    return;
  }
  tell({ kind: 'ok', text: `settings: ${settings.file.name}` });
  const place = { configFile: namedFile(options), environment: process.env, cwd: process.cwd() };
  const path = findConfigFile(place);
  if (path === undefined || process.platform === 'win32' || (statSync(path).mode & 0o004) === 0) return;
  tell({ kind: 'warning', text: `${path} holds secrets and can be read by everybody: chmod 600 it.` });
}

function conclude({ problem, pending, warning }: Record<Finding['kind'], number>, options: CheckOptions): void {
  const warnings = warning === 0 ? '' : warning === 1 ? ' There is 1 warning.' : ` There are ${warning} warnings.`;
  if (problem > 0) throw new Exit(exitCodes.failed, `the service would not start.${warnings}`);
  if (pending > 0) throw new Exit(exitCodes.checkMigrations, `run \`coffer migrate\` first.${warnings}`);
  if (warning > 0 && options.strict === true) {
    throw new Exit(exitCodes.checkWarnings, `the service would start, but not without a thought.${warnings}`);
  }
  if (options.quiet !== true) print(`The service would start.${warnings}`);
}
