// Loading: finds the configuration file, stacks the sources, reads the table, and reports everything that is wrong at
// once. From the lowest: defaults, the profile without configuration, file, environment, command line.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { checkTogether } from './checks.ts';
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
import { describeProblem, SettingsError, type Problem } from './problems.ts';
import { profileLayer } from './profile.ts';
import { resolveTable, type Report } from './resolve.ts';
import { Settings } from './settings.ts';
import { coreSettings } from './table.ts';

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
  /** Tables of plugins, checked together with the core's. */
  readonly tables?: readonly SettingsTable[];
}

/** Files that are read when none is named, in this order, below the working folder. */
export const defaultFiles = [
  'coffer.toml',
  'coffer.ini',
  'config/coffer.toml',
  'config/coffer.ini',
  'config/svc.ini',
] as const;

/**
 * The settings of a service, from all sources.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function loadSettings(options: LoadOptions = {}): Settings {
  const { environment = process.env, cwd = process.cwd(), overrides = {}, tables = [], keepsSecret = true } = options;
  const report: Report = { problems: [], warnings: [] };
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
  const namedConfig = findConfigName({ configFile: options.configFile, environment });
  return settle({ layers, environments: [ours, theirs], file, namedConfig, tables }, report);
}

/**
 * Settings from values a program holds, without files, environment or profile.
 *
 * @throws SettingsError naming everything that is wrong
 */
export function settingsOf(values: Readonly<Record<string, string>>, tables: readonly SettingsTable[] = []): Settings {
  const report: Report = { problems: [], warnings: [] };
  const entries = Object.entries(values).map(([key, text]) => ({ key, text, from: 'values' }));
  return settle(
    { layers: [fileLayer(entries, report.problems)], environments: [], file: null, namedConfig: undefined, tables },
    report,
  );
}

interface Stack {
  readonly layers: readonly Layer[];
  readonly environments: readonly EnvironmentLayer[];
  /** `undefined`: there is none, and the profile is in force; `null`: files do not matter. */
  readonly file: ConfigFile | undefined | null;
  readonly namedConfig: string | undefined;
  readonly tables: readonly SettingsTable[];
}

function settle({ layers, environments, file, namedConfig, tables }: Stack, report: Report): Settings {
  const values = resolveTable(layers, coreSettings, report);
  for (const table of tables) resolveTable(layers, table, report);
  checkTogether(values, { layers, environments }, report);
  if (report.problems.length > 0) throw new SettingsError(withoutRepetitions(report.problems));
  return new Settings({
    layers,
    environments,
    values,
    file: file?.identity ?? null,
    namedConfig,
    warnings: report.warnings,
    isZeroConfig: file === undefined,
  });
}

/** A value that two checks looked at is told once. */
function withoutRepetitions(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [describeProblem(problem), problem])).values()];
}

function layersOfFile(file: ConfigFile, report: Report): readonly Layer[] {
  const layer = fileLayer(file.entries, report.problems);
  report.warnings.push(...file.warnings);
  if (layer.deprecated.length > 0) {
    report.warnings.push(
      `${file.identity.name}: the prefix kinto. is deprecated, leave it out: ${layer.deprecated.join(', ')}`,
    );
  }
  return [layer, fileLayer(file.fallbacks, report.problems)];
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
