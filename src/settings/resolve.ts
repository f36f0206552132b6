// Resolves settings to typed values: finds each setting of a table in the highest layer that sets it, reads it, and collects
// the problems in one report.
import type { Setting, SettingsTable, ValuesOf } from './definition.ts';
import { conflict, type Given, type Layer } from './layers.ts';
import type { Problem } from './problems.ts';
import type { Reader } from './readers.ts';

/** Result of a lookup. */
export interface Resolution<T> {
  readonly value: T;
  readonly isGiven: boolean;
}

/** A setting with a deprecated name or value. */
export interface Deprecation {
  readonly name: string;
  readonly from: string;
  /** The current spelling. */
  readonly note: string;
}

/** Collected findings. */
export interface Report {
  readonly problems: Problem[];
  readonly warnings: string[];
  readonly deprecations: Deprecation[];
}

/** Returns an empty report. */
export function emptyReport(): Report {
  return { problems: [], warnings: [], deprecations: [] };
}

/** Returns the typed values of a table. Wrong settings have their default, and a problem in the report. */
export function resolveTable<T extends SettingsTable>(layers: readonly Layer[], table: T, report: Report): ValuesOf<T> {
  const values = Object.entries(table).map(([key, row]) => [key, resolveSetting(layers, key, row, report)] as const);
  return Object.fromEntries(values) as ValuesOf<T>;
}

function resolveSetting(layers: readonly Layer[], key: string, row: Setting<unknown>, report: Report): unknown {
  const { value, isGiven } = resolveKey(layers, [key, ...row.aliases], row.reader, { report, isSecret: row.isSecret });
  if (!isGiven && row.noteWhenAbsent !== undefined) report.warnings.push(row.noteWhenAbsent);
  return isGiven ? value : row.default;
}

/** Reads a setting under all its spellings; `isGiven` is `false` when no layer sets it, or sets it empty. */
export function resolveKey<T>(
  layers: readonly Layer[],
  spellings: readonly string[],
  reader: Reader<T>,
  { report, isSecret }: { readonly report: Report; readonly isSecret: boolean },
): Resolution<T | undefined> {
  for (const layer of layers) {
    const given = findIn(layer, spellings, report);
    if (given === undefined) continue;
    const reading = reader.read(given.text);
    switch (reading.kind) {
      case 'unset':
        continue;
      case 'value':
        if (reading.note !== undefined) {
          report.deprecations.push({ name: given.name, from: given.from, note: reading.note });
        }
        return { value: reading.value, isGiven: true };
      case 'wrong':
        report.problems.push({
          name: given.name,
          given: isSecret ? undefined : given.text,
          from: given.from,
          message: `expected ${reading.expected}`,
        });
        return { value: undefined, isGiven: false };
    }
  }
  return { value: undefined, isGiven: false };
}

/** Returns the setting of a layer under any of the spellings. Different values are a problem. */
function findIn(layer: Layer, spellings: readonly string[], report: Report): Given | undefined {
  let first: Given | undefined;
  for (const spelling of spellings) {
    const given = layer.find(spelling);
    if (given === undefined) continue;
    if (first === undefined) first = given;
    else if (first.text !== given.text) report.problems.push(conflict(first, given));
  }
  return first;
}

/** Whether the name suggests a secret, whose value messages must not repeat. */
export function soundsSecret(key: string): boolean {
  return /secret|password|token|dsn|private|credential|_url$|(?:^|[._])key$/i.test(key);
}
