// The settings in effect with their sources, for operators. A value is shown only if it cannot be a secret: others are hidden,
// and URLs lose what may be a credential.
import { formatValue, type Setting, type SettingsTable } from './definition.ts';
import type { SettingsFamily } from './families.ts';
import type { Given, Layer } from './layers.ts';
import { soundsSecret } from './resolve.ts';
import type { Sources } from './checks.ts';

/** Where a value comes from; `program`: the code that embeds the service. */
export type SettingSource = 'default' | 'profile' | 'file' | 'environment' | 'command line' | 'program';

export interface EffectiveSetting {
  readonly name: string;
  /** As in a configuration file; `undefined` if the setting is not set or hidden. */
  readonly value: string | undefined;
  readonly isHidden: boolean;
  readonly source: SettingSource;
  /** Line of the file, or name of the variable. */
  readonly place: string | undefined;
  readonly section: string | undefined;
  readonly description: string | undefined;
  readonly default: string | undefined;
}

/** Returns all settings of the tables, and given ones of other names, in the order of their names. */
export function listEffective(
  { layers, environments }: Sources,
  tables: readonly SettingsTable[],
  families: readonly SettingsFamily[],
): readonly EffectiveSetting[] {
  const found = new Map<string, EffectiveSetting>();
  const used = new Set<string>();
  for (const table of tables) {
    for (const [name, row] of Object.entries(table)) {
      const given = findGiven(layers, [name, ...row.aliases], row);
      for (const alias of [name, ...row.aliases]) for (const layer of layers) used.add(layer.find(alias)?.name ?? '');
      found.set(name, describeRow(name, row, given));
    }
  }
  const known = new Set(tables.flatMap((table) => Object.values(table).flatMap(({ aliases }) => aliases)));
  for (const name of layers.flatMap(({ keys }) => keys)) {
    if (found.has(name) || known.has(name)) continue;
    const given = findGiven(layers, [name]);
    if (given === undefined) continue;
    used.add(given.name);
    found.set(name, describeOther(name, given, families));
  }
  for (const { variables } of environments) {
    for (const [name, text] of variables) {
      if (used.has(name)) continue;
      found.set(name, describeOther(name, { name, text, from: 'environment' }, families));
    }
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function findGiven(layers: readonly Layer[], names: readonly string[], row?: Setting<unknown>): Given | undefined {
  for (const layer of layers) {
    for (const name of names) {
      const given = layer.find(name);
      if (given !== undefined && row?.reader.read(given.text).kind !== 'unset') return given;
    }
  }
  return undefined;
}

function describeRow(name: string, row: Setting<unknown>, given: Given | undefined): EffectiveSetting {
  const byDefault = formatValue(row.default);
  const text = given?.text ?? byDefault;
  const shown = row.isSecret ? undefined : showText(name, text, isHarmless(given, row));
  const isHidden = shown === undefined && text !== '';
  return {
    name,
    value: text === '' ? undefined : shown,
    isHidden,
    ...sourceOf(given),
    section: row.section,
    description: row.sentence,
    default: row.isSecret || byDefault === '' ? undefined : byDefault,
  };
}

/** Whether the reader accepts numbers and flags only, which are no secrets. */
function isHarmless(given: Given | undefined, row: Setting<unknown>): boolean {
  if (given === undefined) return true;
  const reading = row.reader.read(given.text);
  return reading.kind === 'value' && (typeof reading.value === 'number' || typeof reading.value === 'boolean');
}

/** Last words of names with ids whose values may be shown. Authors of plugins choose the others, so those are hidden. */
const openParameters =
  /(?:^event_listeners|[._](?:use|url|issuer|actions|resources|events|sync|requests|window|per|methods|paths|timeout|max_attempts))$/i;

function describeOther(name: string, given: Given, families: readonly SettingsFamily[]): EffectiveSetting {
  const key = given.name.replace(/^(?:SVC|KINTO)_/, '').toLowerCase();
  const family = families.find(({ pattern, environmentPattern }) =>
    given.from === 'environment' ? environmentPattern.test(key) : pattern.test(name),
  );
  const isOpen = family !== undefined && (family.reader !== undefined || openParameters.test(name));
  const value = isOpen ? showText(name, given.text, false) : undefined;
  return {
    name,
    value: given.text === '' ? undefined : value,
    isHidden: value === undefined && given.text !== '',
    ...sourceOf(given),
    section: undefined,
    description: undefined,
    default: undefined,
  };
}

/** Returns the text without what may be a credential; `undefined` if all of it may be one. */
function showText(name: string, text: string, isPlain: boolean): string | undefined {
  if (isPlain) return text;
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\/\S*$/i.test(text);
  if (soundsSecret(name) && !(isUrl && /url$/i.test(name))) return undefined;
  return withoutCredentials(text);
}

/** Replaces user names, passwords and queries of URLs. A password may contain any character but a blank. */
export function withoutCredentials(text: string): string {
  return text.replaceAll(/(:\/\/)\S*@/g, '$1***@').replaceAll(/(:\/\/[^\s?]*)\?\S*/g, '$1?***');
}

function sourceOf(given: Given | undefined): Pick<EffectiveSetting, 'source' | 'place'> {
  switch (given?.from) {
    case undefined:
      return { source: 'default', place: undefined };
    case 'environment':
      return { source: 'environment', place: given.name };
    case 'command line':
      return { source: 'command line', place: undefined };
    case 'profile without configuration':
      return { source: 'profile', place: undefined };
    case 'values':
      return { source: 'program', place: undefined };
    default:
      return { source: 'file', place: given?.from };
  }
}
