// Loads the settings: finds the configuration file, stacks the sources, reads the tables, and reports all problems at once.
// Sources in ascending precedence: defaults, profile without configuration, file, environment, command line.
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { findPlaceProblems, type BackendSettings } from './backend-settings.ts';
import { checkTogether, type Purpose } from './checks.ts';
import { readConfigFile, type ConfigFile } from './config-file.ts';
import type { SettingsTable } from './definition.ts';
import {
  environmentLayer,
  fileLayer,
  fileVariables,
  platformLayer,
  valuesLayer,
  type Environment,
  type EnvironmentLayer,
  type Layer,
} from './layers.ts';
import { summariseDeprecations } from './deprecations.ts';
import { SettingsError, withoutRepetitions, type Problem } from './problems.ts';
import { profileLayer } from './profile.ts';
import { emptyReport, resolveTable, type Report } from './resolve.ts';
import { Settings } from './settings.ts';
import { coreSettingsFor, tablesOfBackends } from './table.ts';
import { findMisnamedVariables } from './unknown.ts';

export interface LoadOptions {
  /** Configuration file from the command line. */
  readonly configFile?: string | undefined;
  /** Settings from the command line by name, with the highest precedence. */
  readonly overrides?: Readonly<Record<string, string>>;
  readonly environment?: Environment;
  /** Folder of the default files and of the data folder. */
  readonly cwd?: string;
  /** Whether a secret of the profile without configuration may be created; default `true`. See `profileLayer`. */
  readonly keepsSecret?: boolean;
  /** Purpose of the settings, which decides the required ones; default: `service`. */
  readonly purpose?: Purpose;
  /** Tables of plugins to check together with the core's. */
  readonly tables?: readonly SettingsTable[];
  /** Backends whose names, locations and settings are checked; without any, every name is that of a module. */
  readonly backends?: readonly BackendSettings[];
}

/** Default files in the working folder, in order of precedence. */
export const defaultFiles = [
  'coffer.toml',
  'coffer.ini',
  'config/coffer.toml',
  'config/coffer.ini',
  'config/svc.ini',
] as const;

/** Settings and their problems. */
export interface Examined {
  /** Wrong settings have their defaults. */
  readonly settings: Settings;
  readonly problems: readonly Problem[];
}

/**
 * Returns the settings of a service from all sources.
 *
 * @throws SettingsError with all problems
 */
export function loadSettings(options: LoadOptions = {}): Settings {
  return requireSound(examineSettings(options));
}

/**
 * Returns the settings of a service from all sources with their problems, for callers that look for further problems before
 * they fail.
 *
 * @throws SettingsError when the configuration file cannot be read at all
 */
export function examineSettings(options: LoadOptions = {}): Examined {
  const { environment = process.env, cwd = process.cwd(), overrides = {}, tables = [], keepsSecret = true } = options;
  const { purpose = 'service', backends = [] } = options;
  const report = emptyReport();
  const path = findConfigFile({ configFile: options.configFile, environment, cwd }, report);
  const file = path === undefined ? undefined : readConfigFile(path);
  const ours = environmentLayer(environment, 'SVC_');
  const theirs = environmentLayer(environment, 'KINTO_');
  if (theirs.variables.size > 0) {
    const names = [...theirs.variables.keys()].join(', ');
    report.warnings.push(`environment variables with the prefix KINTO_ are deprecated; use SVC_: ${names}`);
  }
  report.warnings.push(...findMisnamedVariables(environment, Object.keys(coreSettingsFor(backends))));
  const given = [valuesLayer(overrides, 'command line'), ours, theirs, platformLayer(environment)];
  const host = given.map((layer) => layer.find('host')).find((found) => found !== undefined)?.text;
  const layers = [
    ...given,
    ...(file === undefined ? [profileLayer(cwd, { keepsSecret, host })] : layersOfFile(file, report)),
  ];
  const shownPath = path === undefined ? '' : shorter(relative(cwd, path), path);
  const namedConfig = findConfigName({ configFile: options.configFile, environment });
  const stack = { layers, environments: [ours, theirs], file, shownPath, namedConfig, tables, backends, purpose };
  return settle(stack, report);
}

/**
 * Returns settings from given values, without files, environment or profile.
 *
 * @throws SettingsError with all problems
 */
export function settingsOf(
  values: Readonly<Record<string, string>>,
  tables: readonly SettingsTable[] = [],
  backends: readonly BackendSettings[] = [],
): Settings {
  const report = emptyReport();
  const entries = Object.entries(values).map(([key, text]) => ({ key, text, from: 'values' }));
  const layers = [fileLayer(entries, report)];
  const none = { environments: [], file: null, shownPath: '', namedConfig: undefined };
  return requireSound(settle({ layers, ...none, tables, backends, purpose: 'service' }, report));
}

function requireSound({ settings, problems }: Examined): Settings {
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

interface Stack {
  readonly layers: readonly Layer[];
  readonly environments: readonly EnvironmentLayer[];
  /** `undefined`: no file, so the profile applies; `null`: files are not used. */
  readonly file: ConfigFile | undefined | null;
  /** Path of the file, relative if that is shorter. */
  readonly shownPath: string;
  readonly namedConfig: string | undefined;
  readonly tables: readonly SettingsTable[];
  readonly backends: readonly BackendSettings[];
  readonly purpose: Purpose;
}

function settle(stack: Stack, report: Report): Examined {
  const { layers, environments, file, backends, purpose } = stack;
  const ofBackends = tablesOfBackends(backends);
  const values = resolveTable(layers, coreSettingsFor(backends), report);
  for (const table of [...ofBackends, ...stack.tables]) resolveTable(layers, table, report);
  checkTogether(values, { layers, environments }, { purpose, backends }, report);
  const settings = new Settings({
    layers,
    environments,
    values,
    tables: ofBackends,
    file: file?.identity ?? null,
    namedConfig: stack.namedConfig,
    warnings: [...summariseDeprecations(report.deprecations, file?.identity.name, stack.shownPath), ...report.warnings],
    isZeroConfig: file === undefined,
  });
  const ofPlaces = purpose === 'other' ? [] : findPlaceProblems(settings, backends);
  return { settings, problems: withoutRepetitions([...report.problems, ...ofPlaces]) };
}

function shorter(a: string, b: string): string {
  return a.length < b.length ? a : b;
}

function layersOfFile(file: ConfigFile, report: Report): readonly Layer[] {
  report.problems.push(...file.problems);
  report.warnings.push(...file.warnings);
  return file.sections.map((entries) => fileLayer(entries, report));
}

interface Place {
  readonly configFile: string | undefined;
  readonly environment: Environment;
  readonly cwd: string;
}

/** Returns the path of the file from the command line, otherwise from the environment. */
export function findConfigName({ configFile, environment }: Omit<Place, 'cwd'>, report?: Report): string | undefined {
  if (configFile !== undefined) return configFile;
  const name = fileVariables.find((variable) => (environment[variable] ?? '') !== '');
  if (name === 'KINTO_INI') report?.warnings.push('the environment variable KINTO_INI is deprecated; use SVC_CONFIG');
  return name === undefined ? undefined : environment[name];
}

/** Returns the absolute path of the file from the command line, otherwise from the environment. */
export function findNamedFile(place: Place, report?: Report): string | undefined {
  const path = findConfigName(place, report);
  return path === undefined ? undefined : resolve(place.cwd, path);
}

/** Returns the path of the named file, otherwise of an existing default file. */
export function findConfigFile(place: Place, report?: Report): string | undefined {
  return (
    findNamedFile(place, report) ?? defaultFiles.map((name) => join(place.cwd, name)).find((path) => existsSync(path))
  );
}
