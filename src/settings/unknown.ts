// Unknown names of settings. Most are misspelt, so the closest known name is suggested.
import { findClosestMatch } from '../base/closest-match.ts';
import { environmentName, type SettingsTable } from './definition.ts';
import { coreFamilies, findReasonToIgnore, type SettingsFamily } from './families.ts';
import type { Environment, EnvironmentLayer, Layer } from './layers.ts';

export interface Vocabulary {
  readonly tables: readonly SettingsTable[];
  /** Families besides those of the core. */
  readonly families: readonly SettingsFamily[];
  /** Settings of plugins that are not included; default none. */
  readonly absent?: readonly AbsentPlugin[];
}

/** A plugin that could be included, with its settings. */
export interface AbsentPlugin {
  readonly name: string;
  readonly settings?: SettingsTable;
  readonly families?: readonly SettingsFamily[];
}

/** Returns a line for each name that is unknown or has no effect. */
export function findUnknown(
  layers: readonly Layer[],
  environments: readonly EnvironmentLayer[],
  { tables, families, absent = [] }: Vocabulary,
): readonly string[] {
  const known = tables.flatMap(namesOf);
  const allFamilies = [...coreFamilies, ...families];
  return [...ofLayers(layers, known, allFamilies, absent), ...ofEnvironment(environments, known, allFamilies, absent)];
}

function namesOf(table: SettingsTable): readonly string[] {
  return Object.entries(table).flatMap(([key, row]) => [key, ...row.aliases]);
}

function ofLayers(
  layers: readonly Layer[],
  known: readonly string[],
  families: readonly SettingsFamily[],
  absent: readonly AbsentPlugin[],
): readonly string[] {
  const lines: string[] = [];
  for (const layer of layers) {
    for (const key of layer.keys) {
      if (known.includes(key)) continue;
      const given = layer.find(key);
      const place = `${given?.name ?? key} (${given?.from ?? 'somewhere'})`;
      const reason = findReasonToIgnore(key);
      if (reason !== undefined) {
        if (reason !== '') lines.push(`${place} has no effect: ${reason}`);
      } else if (!families.some(({ pattern }) => pattern.test(key))) {
        const owner = absent.find(
          ({ settings = {}, families: own = [] }) =>
            namesOf(settings).includes(key) || own.some(({ pattern }) => pattern.test(key)),
        );
        lines.push(owner === undefined ? describeUnknown(place, key, known) : describeAbsent(place, owner));
      }
    }
  }
  return lines;
}

function ofEnvironment(
  environments: readonly EnvironmentLayer[],
  known: readonly string[],
  families: readonly SettingsFamily[],
  absent: readonly AbsentPlugin[],
): readonly string[] {
  const knownNames = new Set(known.flatMap((key) => [environmentName(key, 'SVC_'), environmentName(key, 'KINTO_')]));
  const lines: string[] = [];
  const names = environments.flatMap(({ prefix, variables }) =>
    [...variables.keys()].map((name) => [prefix, name] as const),
  );
  for (const [prefix, name] of names) {
    const key = name.slice(prefix.length).toLowerCase();
    if (knownNames.has(name) || findReasonToIgnore(key) !== undefined) continue;
    if (families.some(({ environmentPattern }) => environmentPattern.test(key))) continue;
    const owner = absent.find(
      ({ settings = {}, families: own = [] }) =>
        namesOf(settings).some((each) => environmentName(each, prefix) === name) ||
        own.some(({ environmentPattern }) => environmentPattern.test(key)),
    );
    const place = `${name} (environment)`;
    const candidates = known.map((candidate) => environmentName(candidate, prefix));
    lines.push(owner === undefined ? describeUnknown(place, name, candidates) : describeAbsent(place, owner));
  }
  return lines;
}

/** Returns a line for each variable that sets one of the keys with the name of the product as its prefix, in vain. */
export function findMisnamedVariables(environment: Environment, keys: readonly string[]): readonly string[] {
  const names = new Set(keys.map((key) => environmentName(key)));
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith('COFFER_')) return [];
    const bare = name.slice('COFFER_'.length);
    const meant = bare === 'PORT' ? bare : names.has(`SVC_${bare}`) ? `SVC_${bare}` : undefined;
    return meant === undefined ? [] : [`unknown setting ${name} (environment): did you mean ${meant}?`];
  });
}

function describeAbsent(place: string, { name }: AbsentPlugin): string {
  return `${place} has no effect: it belongs to the plugin ${name}, which the setting includes does not name`;
}

function describeUnknown(place: string, key: string, known: readonly string[]): string {
  const bare = key.replace(/^coffer\./, '');
  const nearest = known.includes(bare) ? bare : findClosestMatch(bare, known);
  return nearest === undefined ? `unknown setting ${place}` : `unknown setting ${place}: did you mean ${nearest}?`;
}
