// Filters of lists: querying.md §2, one parameter at a time.
import { formatJson, parseJson } from './numbers.ts';
import { compare, isList, isMap, isSame, valueAt, type Json, type JsonMap } from './json.ts';

/** Whether an object, `id` and `last_modified` included, passes. */
export type Test = (map: JsonMap) => boolean;

export interface Filter {
  readonly field: string;
  readonly test: Test;
}

const operators = /^(lt|min|max|not|eq|gt|in|exclude|like|has|contains_any|contains)_([\w.]+)$/;

/** What the filters of a list are like. */
export interface FilterRules {
  /** Timestamps from here on are refused. */
  readonly horizon: number;
  /** Fields whose values are texts, whatever they look like. */
  readonly textFields: readonly string[];
  /** The only fields there are, parts of them included. */
  readonly knownFields?: readonly string[] | undefined;
  /** Additional fields for `contains_`. */
  readonly listFields?: readonly string[] | undefined;
}

/** Reads a parameter; `undefined` when it is not acceptable. */
export function readFilter(name: string, text: string, rules: FilterRules): Filter | undefined {
  const match = operators.exec(name);
  const operator = match?.[1] ?? 'eq';
  const field = match?.[2] ?? name;
  const contains = operator === 'contains' || operator === 'contains_any';
  const isKnown =
    rules.knownFields === undefined ||
    rules.knownFields.includes(field.split('.')[0]!) ||
    (contains && rules.listFields?.includes(field) === true);
  if (!isKnown) return undefined;
  const passes = readTest(operator, field, text, rules);
  return passes === undefined ? undefined : { field, test: (map) => passes(valueAt(map, field)) };
}

export type ValueTest = (value: Json | undefined) => boolean;

function readTest(operator: string, field: string, text: string, rules: FilterRules): ValueTest | undefined {
  switch (operator) {
    case 'in':
    case 'exclude': {
      const wanted = text.split(',').map((part) => readListed(field, part, rules));
      if (wanted.includes(undefined)) return undefined;
      const isListed: ValueTest = (value) => value !== undefined && wanted.some((one) => isSame(value, one));
      return operator === 'in' ? isListed : (value) => !isListed(value);
    }
    case 'like':
      return field === 'last_modified' ? undefined : readLike(text);
    case 'has': {
      const known = { true: true, '1': true, yes: true, false: false, '0': false, no: false };
      const present = Object.entries(known).find(([word]) => word === text)?.[1];
      return present === undefined ? undefined : (value) => (value !== undefined) === present;
    }
    case 'contains':
    case 'contains_any': {
      if (field === 'id' || field === 'last_modified') return undefined;
      const value = readValue(text);
      const wanted = isList(value) ? value : [value];
      if (operator === 'contains') return (found) => isList(found) && wanted.every((one) => holdsElement(found, one));
      return (found) => isList(found) && wanted.some((one) => holdsElement(found, one));
    }
    default: {
      const wanted = readCompared(field, text, rules);
      return wanted === undefined ? undefined : comparison(operator, wanted);
    }
  }
}

/** The comparison of an operator with a value. */
export function comparison(operator: string, wanted: Json): ValueTest {
  switch (operator) {
    case 'not':
      return (value) => !isSame(value, wanted);
    case 'lt':
      return (value) => compare(value, wanted) < 0;
    case 'max':
      return (value) => compare(value, wanted) <= 0;
    case 'gt':
      return (value) => compare(value, wanted) > 0;
    case 'min':
      return (value) => compare(value, wanted) >= 0;
    default:
      return (value) => isSame(value, wanted);
  }
}

/** JSON, or else the text itself. */
export function readValue(text: string): Json {
  try {
    return parseJson(text) as Json;
  } catch {
    // What is no JSON stands for itself.
    return text;
  }
}

function readCompared(field: string, text: string, { horizon, textFields }: FilterRules): Json | undefined {
  if (field === 'last_modified') return readTime(text, horizon);
  const value = readValue(text);
  return textFields.includes(field) && typeof value !== 'string' ? text : value;
}

function readListed(field: string, text: string, rules: FilterRules): Json | undefined {
  if (field !== 'id') return readCompared(field, text, rules);
  const value = readValue(text);
  return typeof value === 'string' ? value : undefined;
}

/** A timestamp, bare or in quotes. */
export function readTime(text: string, horizon: number): number | undefined {
  if (!/^(?:\d+|"\d+")$/.test(text)) return undefined;
  const time = Number(text.replaceAll('"', ''));
  return time < horizon ? time : undefined;
}

function readLike(text: string): ValueTest {
  const value = readValue(text);
  return likeTest(typeof value === 'string' ? value : text);
}

/** Whether texts, or values as texts, are like a pattern. */
export function likeTest(text: string): ValueTest {
  const wanted = text.toLowerCase();
  const pattern = wanted.includes('*') ? wanted : `*${wanted}*`;
  const escaped = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`));
  const expression = new RegExp(`^${escaped.join(String.raw`[\s\S]*`)}$`);
  return (found) => {
    if (found === undefined || found === null) return false;
    return expression.test((typeof found === 'string' ? found : formatJson(found)).toLowerCase());
  };
}

/** Objects are held by those that have more members. */
export function holdsElement(list: readonly Json[], wanted: Json): boolean {
  return list.some((element) => {
    if (!isMap(element) || !isMap(wanted)) return isSame(element, wanted);
    return Object.entries(wanted).every(([key, value]) => isSame(valueAt(element, key), value));
  });
}
