// What all commands share: the options that name the configuration and the weight of the log, and loading settings.
import process from 'node:process';
import type { Command } from 'commander';
import type { Purpose } from '../settings/checks.ts';
import { builtInBackends } from '../backends/built-in-backends.ts';
import { examineSettings, loadSettings, type LoadOptions } from '../backends/load-settings.ts';
import { durableNames, findVolatileChoices } from '../settings/backend-settings.ts';
import { findConfigName, type Examined } from '../settings/load.ts';
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

/** Adds `--config`, `--ini`, `--quiet` and `--debug`. */
export function withCommonOptions(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file, INI or TOML (environment: SVC_CONFIG)')
    .option('--ini <file>', 'alias of --config, as in Kinto (environment: SVC_INI)')
    .option('-q, --quiet', 'log errors only')
    .option('-v, --debug', 'log everything');
}

/** The file named by either option. */
export function namedFile({ config, ini }: CommonOptions): string | undefined {
  return config ?? ini;
}

/** Returns a message in which `coffer migrate` is followed by the configuration file in use. */
export function withConfig(message: string, options: CommonOptions): string {
  const namedConfig = findConfigName({ configFile: namedFile(options), environment: process.env });
  return completeCommand(message, { namedConfig });
}

/**
 * Settings from all sources.
 *
 * @param overrides settings that options of the command stand for
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
 * Settings from all sources, for work on the backends: what only a service needs may be missing.
 *
 * @throws SettingsError
 */
export function loadForBackends(options: CommonOptions): Settings {
  return loadSettings(loadOptions(options, {}, { purpose: 'backends' }));
}

/**
 * Settings from all sources, for a service.
 *
 * @throws SettingsError naming everything that is wrong, with what plugins, policies and listeners find wrong
 */
export async function loadForService(options: CommonOptions, overrides: Overrides = {}): Promise<Settings> {
  const { settings, problems } = examineSettings(loadOptions(options, overrides));
  if (problems.length === 0) return settings;
  const { findAssemblyProblems } = await import('../app/check.ts');
  throw new SettingsError(withoutRepetitions([...problems, ...(await findAssemblyProblems(settings))]));
}

/**
 * Settings from all sources, with what is wrong with them.
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
 * Returns the settings from all sources, for a command that reads or writes stored data.
 *
 * @throws SettingsError
 * @throws Exit as `requireDurable` does
 */
export function loadDurable(options: CommonOptions, purpose: Purpose = 'backends'): Settings {
  return requireDurable(loadWith(options, {}, { purpose }));
}

/**
 * Returns the settings, which must keep objects and permissions outside of this process.
 *
 * @throws Exit when they are in memory: the command would work on empty stores of its own, which end with it
 */
export function requireDurable(settings: Settings): Settings {
  const volatile = findVolatileChoices(settings, builtInBackends);
  if (volatile.length === 0) return settings;
  const names = volatile.join(' and ');
  const where = settings.file === null ? 'the settings' : settings.file.name;
  throw new Exit(
    exitCodes.failed,
    `nothing was done: ${names} of ${where} ${volatile.length === 1 ? 'is' : 'are'} memory, the default of a ` +
      'configuration file. Such data belongs to one process: this command cannot reach that of a running service, and ' +
      `what it stores would be lost when it ends. Set storage_backend and permission_backend to ${durableNames(builtInBackends)}.`,
  );
}
