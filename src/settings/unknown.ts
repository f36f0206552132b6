// Unknown names of settings. Most are misspelt, so the closest known name is suggested. Where a misspelt name leaves something
// enabled that it should disable, the service does not start.
import { findClosestMatch } from '../base/closest-match.ts';
import { environmentName, type SettingsTable } from './definition.ts';
import { belongsToKind, coreFamilies, findReasonToIgnore, methodSwitch, type SettingsFamily } from './families.ts';
import type { Environment, EnvironmentLayer, Given, Layer } from './layers.ts';
import type { Problem } from './problems.ts';
import { flag } from './readers.ts';

export interface Vocabulary {
  readonly tables: readonly SettingsTable[];
  /** Families besides those of the core. */
  readonly families: readonly SettingsFamily[];
  /** Settings of plugins that are not included; default none. */
  readonly absent?: readonly AbsentPlugin[];
  /**
   * Names of the families of the service. One that ends with a dot is the beginning of names. `undefined`: they are not known
   * yet, so all names of the form are accepted.
   */
  readonly served?: readonly string[] | undefined;
}

/** A plugin that could be included, with its settings. */
export interface AbsentPlugin {
  readonly name: string;
  readonly settings?: SettingsTable;
  readonly families?: readonly SettingsFamily[];
  readonly kindNames?: readonly string[];
}

/** A name that is unknown or has no effect. */
export interface UnreadSetting {
  /** Message for the log, without the value. */
  readonly line: string;
  /** Why the service must not start with it; mostly absent. */
  readonly problem?: Problem;
}

/** Returns the names that are unknown or have no effect. */
export function findUnknown(
  layers: readonly Layer[],
  environments: readonly EnvironmentLayer[],
  vocabulary: Vocabulary,
): readonly UnreadSetting[] {
  const { tables, served } = vocabulary;
  const known = [...tables.flatMap(namesOf), ...(served ?? [])];
  const families = [...coreFamilies, ...vocabulary.families].filter(
    ({ isOfService }) => served === undefined || isOfService !== true,
  );
  return [
    ...ofLayers(layers, known, families, vocabulary),
    ...environments.flatMap((environment) => ofEnvironment(environment, known, families, vocabulary)),
  ];
}

function namesOf(table: SettingsTable): readonly string[] {
  return Object.entries(table).flatMap(([key, row]) => [key, ...row.aliases]);
}

function ofLayers(
  layers: readonly Layer[],
  known: readonly string[],
  families: readonly SettingsFamily[],
  { absent = [], served }: Vocabulary,
): readonly UnreadSetting[] {
  const isKnown = namesIn(known, '.');
  const found: UnreadSetting[] = [];
  for (const layer of layers) {
    for (const key of layer.keys) {
      if (isKnown(key)) continue;
      const given = layer.find(key);
      const place = `${given?.name ?? key} (${given?.from ?? 'somewhere'})`;
      const reason = findReasonToIgnore(key);
      if (reason !== undefined) {
        if (reason !== '') found.push({ line: `${place} has no effect: ${reason}` });
      } else if (!families.some(({ pattern }) => pattern.test(key))) {
        const owner = absent.find(
          ({ settings = {}, families: own = [], kindNames = [] }) =>
            namesOf(settings).includes(key) ||
            own.some(({ pattern }) => pattern.test(key)) ||
            kindNames.some((kind) => belongsToKind(key, kind)),
        );
        found.push(
          owner === undefined
            ? describeUnknown(place, key, { known, given, isComplete: served !== undefined })
            : describeAbsent(place, owner),
        );
      }
    }
  }
  return found;
}

function ofEnvironment(
  { prefix, variables }: EnvironmentLayer,
  known: readonly string[],
  families: readonly SettingsFamily[],
  { absent = [], served }: Vocabulary,
): readonly UnreadSetting[] {
  const candidates = known.map((candidate) => environmentName(candidate, prefix));
  const isKnown = namesIn(candidates, '_');
  const found: UnreadSetting[] = [];
  for (const [name, text] of variables) {
    const key = name.slice(prefix.length).toLowerCase();
    if (isKnown(name) || findReasonToIgnore(key) !== undefined) continue;
    if (families.some(({ environmentPattern }) => environmentPattern.test(key))) continue;
    const owner = absent.find(
      ({ settings = {}, families: own = [], kindNames = [] }) =>
        namesOf(settings).some((each) => environmentName(each, prefix) === name) ||
        own.some(({ environmentPattern }) => environmentPattern.test(key)) ||
        kindNames.some((kind) => belongsToKind(key, kind)),
    );
    const place = `${name} (environment)`;
    const given = { name, text, from: 'environment' };
    found.push(
      owner === undefined
        ? describeUnknown(place, name, { known: candidates, given, isComplete: served !== undefined })
        : describeAbsent(place, owner),
    );
  }
  return found;
}

/** Returns whether a name is one of these, or begins with one that ends with the separator. */
function namesIn(names: readonly string[], separator: string): (name: string) => boolean {
  const all = new Set(names);
  const beginnings = names.filter((name) => name.endsWith(separator));
  return (name) => all.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
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

function describeAbsent(place: string, { name }: AbsentPlugin): UnreadSetting {
  return {
    line: `${place} has no effect: it belongs to the plugin ${name}, which the setting includes does not name`,
  };
}

interface Unknown {
  readonly known: readonly string[];
  readonly given: Given | undefined;
  /** Whether the names of the service are among the known ones. */
  readonly isComplete: boolean;
}

function describeUnknown(place: string, key: string, { known, given, isComplete }: Unknown): UnreadSetting {
  const bare = key.replace(/^coffer\./, '');
  const nearest = known.includes(bare) ? bare : findClosestMatch(bare, known);
  const advice = nearest === undefined ? '' : `did you mean ${nearest}?`;
  const line = `unknown setting ${place}${advice === '' ? '' : `: ${advice}`}`;
  if (!isComplete || given === undefined || !disablesMethod(key, given.text)) return { line };
  const message = `disables nothing, because no kind of objects or no method has this name${advice === '' ? '' : `; ${advice}`}`;
  return { line, problem: { name: given.name, given: given.text, from: given.from, message } };
}

function disablesMethod(key: string, text: string): boolean {
  if (!methodSwitch.test(key)) return false;
  const reading = flag().read(text);
  return reading.kind === 'value' && !reading.value;
}
