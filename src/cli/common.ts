// What all commands share: the options that name the configuration and the weight of the log, and loading settings.
import type { Command } from 'commander';
import { loadSettings, type LoadOptions } from '../settings/load.ts';
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
    .option('--ini <file>', 'the same, as the reference server calls it (environment: SVC_INI)')
    .option('-q, --quiet', 'log errors only')
    .option('-v, --debug', 'log everything');
}

/** The file named by either option. */
export function namedFile({ config, ini }: CommonOptions): string | undefined {
  return config ?? ini;
}

/**
 * Settings from all sources.
 *
 * @param overrides settings that options of the command stand for
 * @throws SettingsError
 */
export function loadWith(
  options: CommonOptions,
  overrides: Readonly<Record<string, string | undefined>> = {},
  more: Pick<LoadOptions, 'keepsSecret'> = {},
): Settings {
  const level = options.debug === true ? 'debug' : options.quiet === true ? 'error' : undefined;
  const given = Object.entries({ ...overrides, log_level: level }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const load: LoadOptions = { configFile: namedFile(options), overrides: Object.fromEntries(given), ...more };
  return loadSettings(load);
}

/**
 * Returns the settings from all sources, for a command that reads or writes stored data.
 *
 * @throws SettingsError
 * @throws Exit as `requireDurable` does
 */
export function loadDurable(options: CommonOptions): Settings {
  return requireDurable(loadWith(options));
}

/**
 * Returns the settings, which must keep objects and permissions outside of this process.
 *
 * @throws Exit when they are in memory: the command would work on empty stores of its own, which end with it
 */
export function requireDurable(settings: Settings): Settings {
  const volatile = (['storage_backend', 'permission_backend'] as const).filter((key) => settings.get(key) === 'memory');
  if (volatile.length === 0) return settings;
  const names = volatile.join(' and ');
  const where = settings.file === null ? 'the settings' : settings.file.name;
  throw new Exit(
    exitCodes.failed,
    `nothing was done: ${names} of ${where} ${volatile.length === 1 ? 'is' : 'are'} memory, the default of a ` +
      'configuration file. Such data belongs to one process: this command cannot reach that of a running service, and ' +
      'what it stores would be lost when it ends. Set storage_backend and permission_backend to sqlite, postgresql or redis.',
  );
}
