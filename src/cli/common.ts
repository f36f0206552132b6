// Options and functions that commands share: the configuration, the log level, and loading of settings.
import process from 'node:process';
import type { Command } from 'commander';
import type { Purpose } from '../settings/checks.ts';
import { builtInBackends } from '../backends/built-in-backends.ts';
import { examineSettings, loadSettings, type LoadOptions } from '../backends/load-settings.ts';
import { durableNames, findVolatileChoices } from '../settings/backend-settings.ts';
import { defaultFiles, findConfigName, type Examined } from '../settings/load.ts';
import { completeCommand } from '../settings/migrate-command.ts';
import { SettingsError, withoutRepetitions } from '../settings/problems.ts';
import type { Settings } from '../settings/settings.ts';
import { Exit, exitCodes } from './exit-codes.ts';

export interface CommonOptions {
  readonly config?: string;
  readonly ini?: string;
  readonly quiet?: true;
  readonly debug?: true;
}

/** Adds `--config`, `--ini`, `--quiet` and `--debug` to a command. */
export function withCommonOptions(command: Command): Command {
  return command
    .option(
      '--config <file>',
      'configuration file, INI or TOML (environment: SVC_CONFIG). Without it, the first of these files that exists is read: ' +
        defaultFiles.join(', '),
    )
    .option('--ini <file>', 'alias of --config, as in Kinto (environment: SVC_INI)')
    .option('-q, --quiet', 'log errors only')
    .option('-v, --debug', 'log debug messages too');
}

/** Returns the configuration file from the command line. */
export function namedFile({ config, ini }: CommonOptions): string | undefined {
  return config ?? ini;
}

/** Completes `coffer migrate` in a message with the configuration file in use. */
export function withConfig(message: string, options: CommonOptions): string {
  const namedConfig = findConfigName({ configFile: namedFile(options), environment: process.env });
  return completeCommand(message, { namedConfig });
}

/**
 * Returns the settings from all sources.
 *
 * @param overrides settings from options of the command
 * @throws SettingsError
 */
export function loadWith(
  options: CommonOptions,
  overrides: Overrides = {},
  more: Pick<LoadOptions, 'keepsSecret' | 'purpose'> = {},
): Settings {
  return loadSettings(loadOptions(options, overrides, more));
}

/**
 * Returns the settings for maintenance of backends. Settings that only a service needs may be missing.
 *
 * @throws SettingsError
 */
export function loadForBackends(options: CommonOptions): Settings {
  return loadSettings(loadOptions(options, {}, { purpose: 'backends' }));
}

/**
 * Returns the settings for a service.
 *
 * @throws SettingsError with all problems, including those that plugins, policies and listeners find
 */
export async function loadForService(options: CommonOptions, overrides: Overrides = {}): Promise<Settings> {
  const { settings, problems } = examineSettings(loadOptions(options, overrides));
  if (problems.length === 0) return settings;
  const { findAssemblyProblems } = await import('../app/check.ts');
  throw new SettingsError(withoutRepetitions([...problems, ...(await findAssemblyProblems(settings))]));
}

/**
 * Returns the settings with their problems.
 *
 * @throws SettingsError when the configuration file cannot be read at all
 */
export function examineWith(options: CommonOptions, more: Pick<LoadOptions, 'keepsSecret'> = {}): Examined {
  return examineSettings(loadOptions(options, {}, more));
}

type Overrides = Readonly<Record<string, string | undefined>>;

function loadOptions(
  options: CommonOptions,
  overrides: Overrides,
  more: Pick<LoadOptions, 'keepsSecret' | 'purpose'> = {},
): LoadOptions {
  const level = options.debug === true ? 'debug' : options.quiet === true ? 'error' : undefined;
  const given = Object.entries({ ...overrides, log_level: level }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { configFile: namedFile(options), overrides: Object.fromEntries(given), ...more };
}

/**
 * Returns the settings for a command on stored data.
 *
 * @throws SettingsError
 * @throws Exit as `requireDurable` does
 */
export function loadDurable(options: CommonOptions, purpose: Purpose = 'backends'): Settings {
  return requireDurable(loadWith(options, {}, { purpose }));
}

/**
 * Returns the settings if objects and permissions are stored outside this process.
 *
 * @throws Exit when a backend is memory: the command would work on empty stores of its own
 */
export function requireDurable(settings: Settings): Settings {
  const volatile = findVolatileChoices(settings, builtInBackends);
  if (volatile.length === 0) return settings;
  const names = volatile.join(' and ');
  const where = settings.file === null ? 'the settings' : settings.file.name;
  throw new Exit(
    exitCodes.failed,
    `nothing was done: ${names} of ${where} ${volatile.length === 1 ? 'is' : 'are'} memory, the default of a ` +
      'configuration file. Data in memory belongs to one process: this command cannot reach that of a running service, ' +
      `and would lose what it stores. Set storage_backend and permission_backend to ${durableNames(builtInBackends)}.`,
  );
}

/** @throws Exit with the code for settings that forbid writes */
export function requireWritable(settings: Settings, code: number = exitCodes.failed): void {
  if (settings.get('readonly')) throw new Exit(code, 'readonly is true: use a configuration that may write');
}

/** Options of commands that fill a backend. */
export interface TransferOptions {
  readonly resume?: true;
  readonly emptyTarget?: true;
  readonly verifyOnly?: true;
}

/**
 * Returns how a command treats existing data in the target.
 *
 * @throws Exit when the options contradict each other
 */
export function transferMode({
  resume,
  emptyTarget,
  verifyOnly,
}: TransferOptions): 'resume' | 'empty' | 'verify' | 'refuse' {
  if ([resume, emptyTarget, verifyOnly].filter((flag) => flag === true).length > 1) {
    throw new Exit(exitCodes.usage, 'give only one of --resume, --empty-target and --verify-only');
  }
  if (resume === true) return 'resume';
  if (emptyTarget === true) return 'empty';
  return verifyOnly === true ? 'verify' : 'refuse';
}

/** Returns the settings of the target of an import: those of `--to-config`, otherwise the current ones. */
export function loadTarget(options: CommonOptions & { readonly toConfig?: string }): Settings {
  if (options.toConfig === undefined) return loadDurable(options);
  return requireDurable(loadSettings({ configFile: options.toConfig, environment: {}, purpose: 'backends' }));
}
