// Reads Compose files with a YAML parser, as values whose scalars are all texts: what a word such as `no` or `30s` means is
// for Compose to say, not for YAML.
import { parse } from 'yaml';

export type Yaml = string | undefined | readonly Yaml[] | { readonly [key: string]: Yaml };

/** Words that versions of YAML take for booleans or numbers in different ways; a Compose file writes them in quotes. */
const ambiguous = /^(?:[^#\n]*:|\s*-)\s+(?:yes|no|on|off|y|n|0\d+|\d+:\d+)\s*$/im;

/** Returns the value of a document. Throws on syntax errors, keys that occur twice, and ambiguous words. */
export function parseYaml(document: string): Yaml {
  const [found] = ambiguous.exec(document) ?? [];
  if (found !== undefined) throw new Error(`write it in quotes: ${found}`);
  const value: unknown = parse(document, { schema: 'failsafe', merge: true, strict: true, uniqueKeys: true });
  return requireYaml(value);
}

/** Returns the value below a path of keys; `undefined` when there is none. */
export function at(value: Yaml, ...keys: readonly string[]): Yaml {
  return keys.reduce<Yaml>((found, key) => Object.fromEntries(entriesOf(found))[key], value);
}

/** Returns the entries of a map; none of anything else. */
export function entriesOf(value: Yaml): readonly (readonly [string, Yaml])[] {
  return typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
}

/** Narrows what the parser returns; an empty value is an empty text in this schema, and `undefined` here. */
function requireYaml(value: unknown): Yaml {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(requireYaml);
  if (typeof value !== 'object') throw new Error(`not a text, a list or a map: ${typeof value}`);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, requireYaml(item)]));
}
