// The settings of a running service: typed values of the core table, and lookups by name for families of settings.
import { formatValue, type SettingsTable, type ValuesOf } from './definition.ts';
import { checkFamilies } from './checks.ts';
import { listEffective, type EffectiveSetting } from './effective.ts';
import type { FileIdentity } from './config-file.ts';
import { coreFamilies, type SettingsFamily } from './families.ts';
import type { EnvironmentLayer, Layer } from './layers.ts';
import { SettingsError, type Problem } from './problems.ts';
import { flag, list, text, type Reader } from './readers.ts';
import { emptyReport, resolveKey, resolveTable, soundsSecret } from './resolve.ts';
import { coreSettings, type CoreTable, type CoreValues } from './table.ts';
import { findUnknown, type UnreadSetting, type Vocabulary } from './unknown.ts';

/** Constructor arguments; see `loadSettings`. */
export interface SettingsParts {
  readonly layers: readonly Layer[];
  readonly environments: readonly EnvironmentLayer[];
  readonly values: CoreValues;
  /** Tables of the backends, whose names are known like those of the core. */
  readonly tables: readonly SettingsTable[];
  readonly file: FileIdentity | null;
  readonly namedConfig: string | undefined;
  readonly warnings: readonly string[];
  readonly isZeroConfig: boolean;
}

export class Settings {
  /** The configuration file, for the root view; `null` when none is used. */
  readonly file: FileIdentity | null;
  /** Path of the configuration file from the command line or the environment; `undefined` for a default file. */
  readonly namedConfig: string | undefined;
  /** Warnings for the log, such as deprecated spellings. `findUnread` returns unknown names. */
  readonly warnings: readonly string[];
  /** Whether the profile without configuration applies. */
  readonly isZeroConfig: boolean;
  readonly #parts: SettingsParts;

  constructor(parts: SettingsParts) {
    this.#parts = parts;
    this.file = parts.file;
    this.namedConfig = parts.namedConfig;
    this.warnings = parts.warnings;
    this.isZeroConfig = parts.isZeroConfig;
  }

  /** Returns the value of a core setting. */
  get<K extends keyof CoreTable>(key: K): CoreValues[K] {
    return this.#parts.values[key];
  }

  /** All values of the core table. */
  get values(): CoreValues {
    return this.#parts.values;
  }

  /** Names and values for the root view, without prefix. */
  get public(): Readonly<Record<string, unknown>> {
    const entries = Object.entries(coreSettings satisfies SettingsTable);
    return Object.fromEntries(
      entries.filter(([, row]) => row.isPublic).map(([key]) => [key, this.#parts.values[key as keyof CoreTable]]),
    );
  }

  /** Returns the text of any setting; the default of one in the core table; otherwise `undefined`. */
  lookup(key: string): string | undefined {
    const found = this.lookupWith(text(), key);
    if (found !== undefined) return found;
    return this.#parts.layers.some((layer) => layer.find(key) !== undefined) ? '' : undefined;
  }

  /** Returns the words of any list setting; `undefined` when it is not set, an empty list when it is set but empty. */
  lookupList(key: string): readonly string[] | undefined {
    return this.lookupWith(list(), key);
  }

  /** Returns the value of any boolean setting; `undefined` when it is not set. */
  lookupFlag(key: string): boolean | undefined {
    return this.lookupWith(flag(), key);
  }

  /**
   * Returns the value of any setting; the default of one in the core table; otherwise `undefined`.
   *
   * @throws SettingsError when the reader rejects the text
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
   * Returns the value of any setting from the highest source that sets it under its name or an equivalent one. The last of
   * several names in that source counts.
   *
   * @param isAlso whether a name is equivalent; not called for sources that cannot list their names
   * @throws SettingsError when the reader rejects the text
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

  /** Returns the names set by file, command line or profile. The environment is only looked up by name. */
  keys(): readonly string[] {
    return [...new Set(this.#parts.layers.flatMap((layer) => layer.keys))].toSorted();
  }

  /**
   * Returns the typed values of another table, such as that of a plugin.
   *
   * @throws SettingsError with all problems of the table
   */
  read<T extends SettingsTable>(table: T): ValuesOf<T> {
    const report = emptyReport();
    const values = resolveTable(this.#parts.layers, table, report);
    if (report.problems.length > 0) throw new SettingsError(report.problems);
    return values;
  }

  /**
   * Checks all of these tables and families.
   *
   * @throws SettingsError
   */
  check(tables: readonly SettingsTable[], families: readonly SettingsFamily[] = []): void {
    const problems = this.findProblems(tables, families);
    if (problems.length > 0) throw new SettingsError(problems);
  }

  /** Returns all problems of these tables and families. */
  findProblems(tables: readonly SettingsTable[], families: readonly SettingsFamily[] = []): readonly Problem[] {
    const report = emptyReport();
    for (const table of tables) resolveTable(this.#parts.layers, table, report);
    checkFamilies(families, this.#parts, report);
    return report.problems;
  }

  /** Returns the settings in effect, of the core, its backends, and these tables and families. Secret values are hidden. */
  listEffective(tables: readonly SettingsTable[], families: readonly SettingsFamily[]): readonly EffectiveSetting[] {
    const all = [coreSettings, ...this.#parts.tables, ...tables];
    return listEffective(this.#parts, all, [...coreFamilies, ...families]);
  }

  /**
   * Returns the given names that neither the core nor the plugins read: with the closest known name, or with the absent plugin
   * that would read it.
   */
  findUnread({ tables, ...further }: Vocabulary): readonly UnreadSetting[] {
    const vocabulary: Vocabulary = { tables: [coreSettings, ...this.#parts.tables, ...tables], ...further };
    return findUnknown(this.#parts.layers, this.#parts.environments, vocabulary);
  }
}
