// From layers to typed values: finds each setting of a table in the highest layer that gives it, reads it, and keeps
// what is wrong for one report.
import type { Setting, SettingsTable, ValuesOf } from './definition.ts';
import { conflict, type Given, type Layer } from './layers.ts';
import type { Problem } from './problems.ts';
import type { Reader } from './readers.ts';

/** What came out of one lookup. */
export interface Resolution<T> {
  readonly value: T;
  readonly isGiven: boolean;
}

/** A setting whose name or value is written in a deprecated way. */
export interface Deprecation {
  readonly name: string;
  readonly from: string;
  /** How to write it. */
  readonly note: string;
}

/** Collects what is found on the way. */
export interface Report {
  readonly problems: Problem[];
  readonly warnings: string[];
  readonly deprecations: Deprecation[];
}

/** Returns a report with nothing in it. */
export function emptyReport(): Report {
  return { problems: [], warnings: [], deprecations: [] };
}

/** The typed values of a table; settings that are wrong have their default and a problem in the report. */
export function resolveTable<T extends SettingsTable>(layers: readonly Layer[], table: T, report: Report): ValuesOf<T> {
  const values = Object.entries(table).map(([key, row]) => [key, resolveSetting(layers, key, row, report)] as const);
  return Object.fromEntries(values) as ValuesOf<T>;
}

function resolveSetting(layers: readonly Layer[], key: string, row: Setting<unknown>, report: Report): unknown {
  const { value, isGiven } = resolveKey(layers, [key, ...row.aliases], row.reader, { report, isSecret: row.isSecret });
  if (!isGiven && row.noteWhenAbsent !== undefined) report.warnings.push(row.noteWhenAbsent);
  return isGiven ? value : row.default;
}

/** Reads one setting under all its spellings; `isGiven` is `false` when no layer gives one, or an empty one. */
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

/** What one layer says under any of the spellings; those that disagree are a problem. */
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

/** Values of settings with such names are not repeated in messages. */
export function soundsSecret(key: string): boolean {
  return /secret|password|token|dsn|private|credential|_url$|(?:^|[._])key$/i.test(key);
}
