// Sources of settings as layers, which look up one key at a time. Environment variables are looked up by a name computed from
// the key, so keys with ids work too.
import { environmentName } from './definition.ts';
import { bareKey, type Problem } from './problems.ts';

/** A setting from a source. */
export interface Given {
  /** Name in the source. */
  readonly name: string;
  readonly text: string;
  readonly from: string;
}

export interface Layer {
  /** Returns the setting of a key without prefix. */
  find(key: string): Given | undefined;
  /** Known keys of the source, without prefix; empty for the environment. */
  readonly keys: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns a layer of values by key: the command line, the profile, or values from a program. */
export function valuesLayer(values: Readonly<Record<string, string>>, from: string): Layer {
  return {
    keys: Object.keys(values),
    find: (key) => (Object.hasOwn(values, key) ? { name: key, text: values[key]!.trim(), from } : undefined),
  };
}

export interface EnvironmentLayer extends Layer {
  readonly prefix: 'SVC_' | 'KINTO_';
  /** Texts of the variables with the prefix, by full name. */
  readonly variables: ReadonlyMap<string, string>;
}

/** Returns the layer of variables with the prefix. Copies them, because access to `process.env` is slow. */
export function environmentLayer(environment: Environment, prefix: 'SVC_' | 'KINTO_'): EnvironmentLayer {
  const variables = new Map<string, string>();
  for (const [name, text] of Object.entries(environment)) {
    if (name.startsWith(prefix) && !isFileVariable(name) && text !== undefined) variables.set(name, text.trim());
  }
  return {
    keys: [],
    prefix,
    variables,
    find(key) {
      if (variables.size === 0) return undefined;
      const name = environmentName(key, prefix);
      const text = variables.get(name);
      return text === undefined ? undefined : { name, text, from: 'environment' };
    },
  };
}

/** Variables with the path of the configuration file, in order of precedence. */
export const fileVariables = ['SVC_CONFIG', 'SVC_INI', 'KINTO_INI'] as const;

function isFileVariable(name: string): boolean {
  return fileVariables.some((variable) => variable === name);
}

/** Returns the layer of `PORT` and `HOST`, which hosting platforms set. */
export function platformLayer(environment: Environment): Layer {
  const names: Readonly<Record<string, string>> = { http_port: 'PORT', host: 'HOST' };
  return {
    keys: [],
    find(key) {
      const name = Object.hasOwn(names, key) ? names[key]! : undefined;
      const text = name === undefined ? undefined : environment[name]?.trim();
      return name === undefined || text === undefined || text === '' ? undefined : { name, text, from: 'environment' };
    },
  };
}

/** One setting of a configuration file, its key as written. */
export interface FileEntry {
  readonly key: string;
  readonly text: string;
  /** Position: `coffer.ini line 3`. */
  readonly from: string;
}

/** Findings in a file. */
interface FileReport {
  readonly problems: Problem[];
  readonly deprecations: { readonly name: string; readonly from: string; readonly note: string }[];
}

/** Returns the layer of a file. Removes prefixes; two different values of one key are a problem. */
export function fileLayer(entries: readonly FileEntry[], report: FileReport): Layer {
  const found = new Map<string, Given>();
  for (const { key: name, text, from } of entries) {
    const key = bareKey(name);
    if (name.startsWith('kinto.')) {
      report.deprecations.push({ name, from, note: 'the prefix kinto. is deprecated; remove it' });
    }
    const earlier = found.get(key);
    if (earlier === undefined) found.set(key, { name, text: text.trim(), from });
    else if (earlier.text !== text.trim()) report.problems.push(conflict(earlier, { name, text, from }));
  }
  return { keys: [...found.keys()], find: (key) => found.get(key) };
}

/** Returns the problem of two spellings of one setting with different values. */
export function conflict(a: Given, b: Given): Problem {
  return {
    name: b.name,
    from: b.from,
    message: `conflicts with ${a.name} (${a.from}); remove one of them, or give both the same value`,
  };
}
