// Loading settings with the backends of this version, whose names, places and settings are checked with the rest.
import type { SettingsTable } from '../settings/definition.ts';
import * as load from '../settings/load.ts';
import type { Settings } from '../settings/settings.ts';
import { builtInBackends as backends } from './built-in-backends.ts';

export type LoadOptions = Omit<load.LoadOptions, 'backends'>;

/**
 * Loads the settings of a service from all sources.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadSettings(options: LoadOptions = {}): Settings {
  return load.loadSettings({ ...options, backends });
}

/**
 * Loads the settings of a service from all sources, and returns what is wrong with them instead of throwing it, for callers
 * that look for further problems first.
 *
 * @throws SettingsError when the configuration file cannot be read at all
 */
export function examineSettings(options: LoadOptions = {}): load.Examined {
  return load.examineSettings({ ...options, backends });
}

/**
 * Makes settings from values that a program holds, without files, environment or profile.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function settingsOf(values: Readonly<Record<string, string>>, tables: readonly SettingsTable[] = []): Settings {
  return load.settingsOf(values, tables, backends);
}
