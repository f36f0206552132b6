// The settings of a running service: typed values of the table, and lookups by name for the families of names that no
// table can list.
import { formatValue, type SettingsTable, type ValuesOf } from './definition.ts';
import { checkFamilies } from './checks.ts';
import type { FileIdentity } from './config-file.ts';
import type { SettingsFamily } from './families.ts';
import type { EnvironmentLayer, Layer } from './layers.ts';
import { SettingsError, type Problem } from './problems.ts';
import { flag, list, text, type Reader } from './readers.ts';
import { emptyReport, resolveKey, resolveTable, soundsSecret } from './resolve.ts';
import { coreSettings, type CoreTable, type CoreValues } from './table.ts';
import { findUnknown, type AbsentPlugin, type Vocabulary } from './unknown.ts';

/** What settings are made from; see `loadSettings`. */
export interface SettingsParts {
  readonly layers: readonly Layer[];
  readonly environments: readonly EnvironmentLayer[];
  readonly values: CoreValues;
  /** Tables of the backends, whose settings are known by name as the core's are. */
  readonly tables: readonly SettingsTable[];
  readonly file: FileIdentity | null;
  readonly namedConfig: string | undefined;
  readonly warnings: readonly string[];
  readonly isZeroConfig: boolean;
}

export class Settings {
  /** What the root view tells about the configuration file; `null` when none is used. */
  readonly file: FileIdentity | null;
  /** Path of the configuration file as the command line or the environment names it; `undefined` for a default file. */
  readonly namedConfig: string | undefined;
  /** Lines for the log: deprecated spellings and the like. Unknown names are in `findUnknownKeys`. */
  readonly warnings: readonly string[];
  /** Whether the profile for starting without configuration is in force. */
  readonly isZeroConfig: boolean;
  readonly #parts: SettingsParts;

  constructor(parts: SettingsParts) {
    this.#parts = parts;
    this.file = parts.file;
    this.namedConfig = parts.namedConfig;
    this.warnings = parts.warnings;
    this.isZeroConfig = parts.isZeroConfig;
  }

  /** The value of a setting of the core. */
  get<K extends keyof CoreTable>(key: K): CoreValues[K] {
    return this.#parts.values[key];
  }

  /** All values of the core. */
  get values(): CoreValues {
    return this.#parts.values;
  }

  /** Names and values that the root view shows, without prefix. */
  get public(): Readonly<Record<string, unknown>> {
    const entries = Object.entries(coreSettings satisfies SettingsTable);
    return Object.fromEntries(
      entries.filter(([, row]) => row.isPublic).map(([key]) => [key, this.#parts.values[key as keyof CoreTable]]),
    );
  }

  /** The text of any setting, listed in the table or not; the default of a listed one; else `undefined`. */
  lookup(key: string): string | undefined {
    const found = this.lookupWith(text(), key);
    if (found !== undefined) return found;
    return this.#parts.layers.some((layer) => layer.find(key) !== undefined) ? '' : undefined;
  }

  /** The words of any setting that is a list; `undefined` when it is not set, empty when set to nothing. */
  lookupList(key: string): readonly string[] | undefined {
    return this.lookupWith(list(), key);
  }

  /** A setting that says yes or no. */
  lookupFlag(key: string): boolean | undefined {
    return this.lookupWith(flag(), key);
  }

  /**
   * The value of any setting as the reader has it; the default of a listed one; `undefined` when it is not set.
   *
   * @throws SettingsError when it is set to something else than the reader expects
   */
  lookupWith<T>(reader: Reader<T>, key: string): T | undefined {
    const report = emptyReport();
    const tables: readonly SettingsTable[] = [coreSettings, ...this.#parts.tables];
    const row = tables.find((table) => Object.hasOwn(table, key))?.[key];
    const isSecret = row?.isSecret ?? soundsSecret(key);
    const { value, isGiven } = resolveKey(this.#parts.layers, [key, ...(row?.aliases ?? [])], reader, {
      report,
      isSecret,
    });
    if (report.problems.length > 0) throw new SettingsError(report.problems);
    if (isGiven || row?.default === undefined) return value;
    const reading = reader.read(formatValue(row.default));
    return reading.kind === 'value' ? reading.value : undefined;
  }

  /**
   * Returns the value of any setting from the highest source that has it under its own name, or under another name of
   * the same meaning. Of several names in that source, the last one counts.
   *
   * @param isAlso tells names of the same meaning, as far as the source can list its names
   * @throws SettingsError when it is set to something else than the reader expects
   */
  lookupLast<T>(reader: Reader<T>, key: string, isAlso: (name: string) => boolean): T | undefined {
    for (const layer of this.#parts.layers) {
      const name = layer.keys.findLast((each) => each === key || isAlso(each)) ?? key;
      const report = emptyReport();
      const { value, isGiven } = resolveKey([layer], [name], reader, { report, isSecret: soundsSecret(name) });
      if (report.problems.length > 0) throw new SettingsError(report.problems);
      if (isGiven) return value;
    }
    return undefined;
  }

  /** Names given by file, command line or profile; the environment cannot be listed, it is asked by name. */
  keys(): readonly string[] {
    return [...new Set(this.#parts.layers.flatMap((layer) => layer.keys))].toSorted();
  }

  /**
   * The typed values of a table that is not the core's, such as a plugin's.
   *
   * @throws SettingsError naming everything that is wrong in it
   */
  read<T extends SettingsTable>(table: T): ValuesOf<T> {
    const report = emptyReport();
    const values = resolveTable(this.#parts.layers, table, report);
    if (report.problems.length > 0) throw new SettingsError(report.problems);
    return values;
  }

  /**
   * Reads all of these tables and families, to report everything that is wrong in any of them at once.
   *
   * @throws SettingsError
   */
  check(tables: readonly SettingsTable[], families: readonly SettingsFamily[] = []): void {
    const problems = this.findProblems(tables, families);
    if (problems.length > 0) throw new SettingsError(problems);
  }

  /** Reads all of these tables and families, and returns everything that is wrong in any of them. */
  findProblems(tables: readonly SettingsTable[], families: readonly SettingsFamily[] = []): readonly Problem[] {
    const report = emptyReport();
    for (const table of tables) resolveTable(this.#parts.layers, table, report);
    checkFamilies(families, this.#parts, report);
    return report.problems;
  }

  /**
   * Returns a line for each given name that neither the core nor the plugins read: with the nearest known name, or with the
   * absent plugin that would read it.
   */
  findUnknownKeys(
    tables: readonly SettingsTable[] = [],
    families: readonly SettingsFamily[] = [],
    absent: readonly AbsentPlugin[] = [],
  ): readonly string[] {
    const vocabulary: Vocabulary = { tables: [coreSettings, ...this.#parts.tables, ...tables], families, absent };
    return findUnknown(this.#parts.layers, this.#parts.environments, vocabulary);
  }
}
