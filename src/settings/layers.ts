// The sources of settings, each as a layer that answers for one key at a time. The environment is asked by a name
// computed from the key, never listed, so that keys holding ids work too.
import { environmentName } from './definition.ts';
import type { Problem } from './problems.ts';

/** A setting as some source gave it. */
export interface Given {
  /** Name as written there. */
  readonly name: string;
  readonly text: string;
  readonly from: string;
}

export interface Layer {
  /** What the source says about a key without prefix. */
  find(key: string): Given | undefined;
  /** Keys it is known to hold, without prefix; empty where they cannot be told. */
  readonly keys: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** A layer of values known by key: command line, profile, or values set by a program. */
export function valuesLayer(values: Readonly<Record<string, string>>, from: string): Layer {
  return {
    keys: Object.keys(values),
    find: (key) => (Object.hasOwn(values, key) ? { name: key, text: values[key]!.trim(), from } : undefined),
  };
}

export interface EnvironmentLayer extends Layer {
  readonly prefix: 'SVC_' | 'KINTO_';
  /** Texts of the variables that carry the prefix, by full name. */
  readonly variables: ReadonlyMap<string, string>;
}

/** The variables that start with the prefix. They are copied, since asking the process for them is slow. */
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

/** Variables that name the configuration file, in the order they are asked. */
export const fileVariables = ['SVC_CONFIG', 'SVC_INI', 'KINTO_INI'] as const;

function isFileVariable(name: string): boolean {
  return fileVariables.some((variable) => variable === name);
}

/** `PORT` and `HOST`, as hosting platforms set them. */
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
  /** `coffer.ini line 3` */
  readonly from: string;
}

/** What reading a file has to say. */
interface FileReport {
  readonly problems: Problem[];
  readonly deprecations: { readonly name: string; readonly from: string; readonly note: string }[];
}

/** The settings of a file. Prefixes are taken off; the same key given twice with different text is a problem. */
export function fileLayer(entries: readonly FileEntry[], report: FileReport): Layer {
  const found = new Map<string, Given>();
  for (const { key: name, text, from } of entries) {
    const key = name.replace(/^(?:svc|kinto)\./, '');
    if (name.startsWith('kinto.')) {
      report.deprecations.push({ name, from, note: 'the prefix kinto. is deprecated, leave it out' });
    }
    const earlier = found.get(key);
    if (earlier === undefined) found.set(key, { name, text: text.trim(), from });
    else if (earlier.text !== text.trim()) report.problems.push(conflict(earlier, { name, text, from }));
  }
  return { keys: [...found.keys()], find: (key) => found.get(key) };
}

/** The problem of two spellings of one setting that disagree. */
export function conflict(a: Given, b: Given): Problem {
  return {
    name: b.name,
    from: b.from,
    message: `conflicts with ${a.name} (${a.from}); give one of them, or the same value`,
  };
}
