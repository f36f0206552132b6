// What a table of settings is made of. One row per setting; types, documentation, the template of a configuration file
// and error messages are all derived from it. Plugins write their own tables with the same `setting`.
import type { Reader } from './readers.ts';

export interface Setting<T> {
  readonly reader: Reader<T>;
  /** Value when no source gives one. */
  readonly default: T;
  /** What it does, as one or more whole sentences. */
  readonly sentence: string;
  /** Heading of the reference that it stands under. */
  readonly section: string;
  /** Whether the root view shows it. */
  readonly isPublic: boolean;
  /** Whether its value must never be printed. */
  readonly isSecret: boolean;
  /** Other spellings that mean the same. */
  readonly aliases: readonly string[];
  /** Said at start when no source gives a value. */
  readonly noteWhenAbsent: string | undefined;
}

/** Settings by name. Names hold lower-case words, `_`, `-` and `.`. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The values of a table, by name. */
export type ValuesOf<T extends SettingsTable> = { readonly [K in keyof T]: ValueOf<T[K]> };

interface SettingOptions<T> {
  readonly default: T;
  readonly section?: string;
  readonly isPublic?: boolean;
  readonly isSecret?: boolean;
  readonly aliases?: readonly string[];
  readonly noteWhenAbsent?: string;
}

/** One row of a table. */
export function setting<T>(reader: Reader<T>, sentence: string, options: SettingOptions<NoInfer<T>>): Setting<T> {
  return {
    reader,
    sentence,
    default: options.default,
    section: options.section ?? 'Other',
    isPublic: options.isPublic ?? false,
    isSecret: options.isSecret ?? false,
    aliases: options.aliases ?? [],
    noteWhenAbsent: options.noteWhenAbsent,
  };
}

/** Returns the table with all of its rows below one heading of the reference. */
export function inSection<T extends SettingsTable>(section: string, table: T): T {
  return Object.fromEntries(Object.entries(table).map(([key, row]) => [key, { ...row, section }])) as T;
}

/** The value of a setting as it would be written in a file; empty when there is none. */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(formatValue).join(' ');
  if (typeof value === 'object')
    return 'text' in value && typeof value.text === 'string' ? value.text : JSON.stringify(value);
  if (value === Infinity) return 'Inf';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Name of the environment variable that answers for a setting. */
export function environmentName(key: string, prefix: 'SVC_' | 'KINTO_' = 'SVC_'): string {
  return prefix + key.toUpperCase().replaceAll(/[.-]/g, '_');
}
