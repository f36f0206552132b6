// Definition of settings: a table with one row per setting. Types, documentation, the template of a configuration file and
// error messages are derived from it. Plugins define their own tables with the same `setting`.
import type { Reader } from './readers.ts';

export interface Setting<T> {
  readonly reader: Reader<T>;
  /** Value when no source sets it. */
  readonly default: T;
  /** Documentation: a noun phrase for the value, then complete sentences. */
  readonly sentence: string;
  /** Section of the reference. */
  readonly section: string;
  /** Whether the root view shows it. */
  readonly isPublic: boolean;
  /** Whether the value must never be printed. */
  readonly isSecret: boolean;
  /** Other names of the setting. */
  readonly aliases: readonly string[];
  /** Warning at the start when no source sets the value. */
  readonly noteWhenAbsent: string | undefined;
}

/** Settings by name. Names consist of lower-case words, `_`, `-` and `.`. */
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

/** Returns a row of a table. */
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

/** Returns the table with all its rows in one section of the reference. */
export function inSection<T extends SettingsTable>(section: string, table: T): T {
  return Object.fromEntries(Object.entries(table).map(([key, row]) => [key, { ...row, section }])) as T;
}

/** Returns the value of a setting as it is written in a file; empty for none. */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(formatValue).join(' ');
  if (typeof value === 'object')
    return 'text' in value && typeof value.text === 'string' ? value.text : JSON.stringify(value);
  if (value === Infinity) return 'Inf';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the name of the environment variable of a setting. */
export function environmentName(key: string, prefix: 'SVC_' | 'KINTO_' = 'SVC_'): string {
  return prefix + key.toUpperCase().replaceAll(/[.-]/g, '_');
}
