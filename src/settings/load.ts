// Loading: finds the configuration file, stacks the sources, reads the table, and reports everything that is wrong at
// once. From the lowest: defaults, the profile without configuration, file, environment, command line.
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

export interface LoadOptions {
  /** Configuration file named on the command line. */
  readonly configFile?: string | undefined;
  /** Settings given on the command line, by name; nothing stands above them. */
  readonly overrides?: Readonly<Record<string, string>>;
  readonly environment?: Environment;
  /** Folder that default files and the data folder are looked for in. */
  readonly cwd?: string;
  /** `false`: a start without configuration, whose secret is made at the first, is only looked at; see `profileLayer`. */
  readonly keepsSecret?: boolean;
  /** What the settings are for, which decides what must be set; serving unless given. */
  readonly purpose?: Purpose;
  /** Tables of plugins, checked together with the core's. */
  readonly tables?: readonly SettingsTable[];
  /** Backends whose names, places and settings are checked; without any, each name is taken for that of a module. */
  readonly backends?: readonly BackendSettings[];
}

/** Files that are read when none is named, in this order, below the working folder. */
export const defaultFiles = [
  'coffer.toml',
  'coffer.ini',
  'config/coffer.toml',
  'config/coffer.ini',
  'config/svc.ini',
] as const;

/** Settings with everything that is wrong with them. */
export interface Examined {
  /** What is wrong has its default. */
  readonly settings: Settings;
  readonly problems: readonly Problem[];
}

/**
 * The settings of a service, from all sources.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadSettings(options: LoadOptions = {}): Settings {
  return requireSound(examineSettings(options));
}

/**
 * Reads the settings of a service from all sources, and reports what is wrong with them instead of refusing them: for
 * callers that look for further problems first.
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
    report.warnings.push(`environment variables with the prefix KINTO_ are deprecated, write SVC_: ${names}`);
  }
  const layers = [
    valuesLayer(overrides, 'command line'),
    ours,
    theirs,
    platformLayer(environment),
    ...(file === undefined ? [profileLayer(cwd, { keepsSecret })] : layersOfFile(file, report)),
  ];
  const shownPath = path === undefined ? '' : shorter(relative(cwd, path), path);
  const namedConfig = findConfigName({ configFile: options.configFile, environment });
  const stack = { layers, environments: [ours, theirs], file, shownPath, namedConfig, tables, backends, purpose };
  return settle(stack, report);
}

/**
 * Settings from values a program holds, without files, environment or profile.
 *
 * @throws SettingsError naming everything that is wrong
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
  /** `undefined`: there is none, and the profile is in force; `null`: files do not matter. */
  readonly file: ConfigFile | undefined | null;
  /** Path of the file, as short as it can be. */
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
  return [fileLayer(file.entries, report), fileLayer(file.fallbacks, report)];
}

interface Place {
  readonly configFile: string | undefined;
  readonly environment: Environment;
  readonly cwd: string;
}

/** Returns the path of the file as it is named on the command line, else in the environment. */
export function findConfigName({ configFile, environment }: Omit<Place, 'cwd'>, report?: Report): string | undefined {
  if (configFile !== undefined) return configFile;
  const name = fileVariables.find((variable) => (environment[variable] ?? '') !== '');
  if (name === 'KINTO_INI') report?.warnings.push('the environment variable KINTO_INI is deprecated, write SVC_CONFIG');
  return name === undefined ? undefined : environment[name];
}

/** The file named on the command line, else in the environment. */
export function findNamedFile(place: Place, report?: Report): string | undefined {
  const path = findConfigName(place, report);
  return path === undefined ? undefined : resolve(place.cwd, path);
}

/** The named file, else a default one that is there. */
export function findConfigFile(place: Place, report?: Report): string | undefined {
  return (
    findNamedFile(place, report) ?? defaultFiles.map((name) => join(place.cwd, name)).find((path) => existsSync(path))
  );
}
