// Keywords that check a value without applying other schemas.
import { abbreviate } from '../../base/abbreviate.ts';
import { type ExactNumber, formatJson, getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { compareValues, equalInSteps, equalValues, isJsonArray, sortedKeys } from '../query/compare.ts';
import { charsPerStep, fail, type Dialect, type Keyword, type KeywordRow } from './keyword.ts';
import { isIntegral, isJsonNumber, isMultipleOf, isWrittenAsInteger, type JsonNumber } from './numbers.ts';
import { UnusableSchema, type Check, type Failure, type Verdict } from './run.ts';

const types: Readonly<Record<string, (value: JsonValue, dialect: Dialect) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => isJsonNumber(value),
  integer: (value, dialect) => isJsonNumber(value) && (dialect <= 4 ? isWrittenAsInteger(value) : isIntegral(value)),
  string: (value) => typeof value === 'string',
  array: (value) => Array.isArray(value),
  object: (value) => isJsonObject(value),
  // Draft 3 only; the meta-schema refuses it in newer drafts.
  any: () => true,
};

function hasType(value: JsonValue, names: readonly string[], dialect: Dialect): boolean {
  return names.some((name) => types[name]!(value, dialect));
}

function readTypes(value: JsonValue): readonly string[] {
  const names: readonly JsonValue[] = isJsonArray(value) ? value : [value];
  return names.map((name) => {
    if (typeof name !== 'string' || !Object.hasOwn(types, name)) throw new UnusableSchema('unknown type');
    return name;
  });
}

const typeKeyword: Keyword = (value, _schema, { dialect }) => {
  const names = readTypes(value);
  const failure = fail('type', `expected ${names.map(withArticle).join(' or ')}`);
  return (candidate) => (hasType(candidate, names, dialect) ? undefined : failure);
};

const disallow: Keyword = (value, _schema, { dialect }) => {
  const names = readTypes(value);
  const failure = fail('disallow', `expected something else than ${names.map(withArticle).join(' or ')}`);
  return (candidate) => (hasType(candidate, names, dialect) ? failure : undefined);
};

function withArticle(type: string): string {
  if (type === 'null' || type === 'any') return type;
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** Returns the maximum number of steps of a comparison with a value from a schema. */
function comparisonCost(value: JsonValue): number {
  if (typeof value === 'string') return 1 + value.length / charsPerStep;
  const members = isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return members.reduce((sum: number, member) => sum + comparisonCost(member), 1);
}

/** Returns the steps to list the keys of an object, with which every check of a whole object begins. */
function memberCost(value: JsonValue): number {
  return isJsonObject(value) ? Object.keys(value).length * 4 : 0;
}

const enumKeyword: Keyword = (value) => {
  if (!isJsonArray(value)) throw new UnusableSchema('enum must be a list');
  const texts = new Set(value.filter((item) => typeof item === 'string'));
  const others = value.filter((item) => typeof item !== 'string');
  const failure = fail('enum', `expected one of ${abbreviateList(value)}`);
  const cost = comparisonCost(others);
  return (candidate, run) => {
    if (typeof candidate === 'string') return texts.has(candidate) ? undefined : failure;
    run.spend(cost + others.length * memberCost(candidate));
    if (typeof candidate === 'object') return findAmong(others, candidate, failure);
    return others.some((item) => equalValues(item, candidate)) ? undefined : failure;
  };
};

function* findAmong(values: readonly JsonValue[], candidate: JsonValue, failure: Failure): Steps<Verdict> {
  const budget = new StepBudget();
  for (const value of values) if (yield* equalInSteps(value, candidate, budget)) return undefined;
  return failure;
}

const constKeyword: Keyword = (value) => {
  const failure = fail('const', `expected ${abbreviate(formatJson(value), 200)}`);
  const cost = comparisonCost(value);
  return (candidate, run) => {
    run.spend(cost + memberCost(candidate));
    if (typeof candidate === 'object') return findAmong([value], candidate, failure);
    return equalValues(value, candidate) ? undefined : failure;
  };
};

function abbreviateList(values: readonly JsonValue[]): string {
  return abbreviate(values.slice(0, 20).map(formatJson).join(', '), 200);
}

/** Returns the keyword of a limit for numbers. `passes` takes the order of value and limit. */
function numberLimit(keyword: string, words: string, passes: (order: number) => boolean): Keyword {
  return (limit) => {
    if (!isJsonNumber(limit)) throw new UnusableSchema(`${keyword} must be a number`);
    const failure = fail(keyword, `expected a number ${words} ${formatJson(limit)}`);
    return (value) => (!isJsonNumber(value) || passes(compareValues(value, limit)) ? undefined : failure);
  };
}

/** Returns the keyword of a limit that a flag makes exclusive up to draft 4. */
function limitWithFlag(flag: string, inclusive: Keyword, exclusive: Keyword): Keyword {
  return (limit, schema, compiler) => {
    const isExclusive = compiler.dialect <= 4 && getKey(schema, flag) === true;
    return (isExclusive ? exclusive : inclusive)(limit, schema, compiler);
  };
}

const above = numberLimit('exclusiveMinimum', 'above', (order) => order > 0);
const below = numberLimit('exclusiveMaximum', 'below', (order) => order < 0);
const atLeast = numberLimit('minimum', 'of at least', (order) => order >= 0);
const atMost = numberLimit('maximum', 'of at most', (order) => order <= 0);

function multiple(keyword: string): Keyword {
  return (divisor) => {
    if (!isJsonNumber(divisor) || Number(divisor) <= 0)
      throw new UnusableSchema(`${keyword} must be a positive number`);
    const failure = fail(keyword, `expected a multiple of ${formatJson(divisor)}`);
    return (value) => (!isJsonNumber(value) || isMultipleOf(value, divisor) ? undefined : failure);
  };
}

/** Returns the keyword of a limit for a size; values without that size pass. */
function sizeLimit(
  keyword: string,
  words: string,
  sizeOf: (value: JsonValue) => number | undefined,
  passes: (size: number, limit: number) => boolean,
): Keyword {
  return (value) => {
    const limit = readCount(keyword, value);
    const failure = fail(keyword, `expected ${words.replace('#', String(limit))}`);
    return (candidate, run) => {
      const size = sizeOf(candidate);
      if (size === undefined) return undefined;
      run.spend(typeof candidate === 'string' ? candidate.length / charsPerStep : memberCost(candidate));
      return passes(size, limit) ? undefined : failure;
    };
  };
}

/** Reads a count, such as the value of `minLength`. */
export function readCount(keyword: string, value: JsonValue): number {
  if (!isJsonNumber(value) || !isIntegral(value) || Number(value) < 0) {
    throw new UnusableSchema(`${keyword} must be a whole number`);
  }
  return Number(value);
}

function textLength(value: JsonValue): number | undefined {
  if (typeof value !== 'string') return undefined;
  let length = value.length;
  for (let i = 0; i < value.length - 1; i++) {
    // A high surrogate. A low one follows, because lone surrogates are never stored.
    if ((value.charCodeAt(i) & 0xfc00) === 0xd800) length--;
  }
  return length;
}

function itemCount(value: JsonValue): number | undefined {
  return isJsonArray(value) ? value.length : undefined;
}

function memberCount(value: JsonValue): number | undefined {
  return isJsonObject(value) ? Object.keys(value).length : undefined;
}

const isAtLeast = (size: number, limit: number): boolean => size >= limit;
const isAtMost = (size: number, limit: number): boolean => size <= limit;

const pattern: Keyword = (value, _schema, compiler) => {
  if (typeof value !== 'string') throw new UnusableSchema('pattern must be text');
  const compiled = compiler.pattern(value);
  const failure = fail('pattern', `expected text that matches ${abbreviate(value, 200)}`);
  return (candidate, run) => {
    if (typeof candidate !== 'string') return undefined;
    run.spend(compiled.stepsFor(candidate));
    return compiled.test(candidate) ? undefined : failure;
  };
};

/** Formatting and storing an item costs several times as much as other keywords. */
const itemCost = 5;

const uniqueItems: Keyword = (value) => {
  if (value !== true) return undefined;
  const failure = fail('uniqueItems', 'expected items that differ from each other');
  return function* check(candidate, run) {
    if (!isJsonArray(candidate)) return undefined;
    const texts = new Set<string>();
    for (const item of candidate) {
      if (run.isDue) yield;
      const text = canonicalText(item);
      run.spend(itemCost + text.length / charsPerStep);
      if (texts.has(text)) return failure;
      texts.add(text);
    }
    return undefined;
  };
};

/** Returns a text that is the same for equal values only. */
function canonicalText(value: JsonValue): string {
  if (isJsonNumber(value)) return canonicalNumber(value);
  if (isJsonArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${sortedKeys(value)
    .map((key) => `${JSON.stringify(key)}:${canonicalText(value[key]!)}`)
    .join(',')}}`;
}

function canonicalNumber(value: JsonNumber): string {
  if (typeof value === 'number') return String(value);
  const double = Number(value);
  // Distinct numbers may round to the same double: then the digits decide.
  return equalValues(double, value) ? String(double) : canonicalDigits(value);
}

/** Returns digits and exponent in one form. Without a regular expression over the text: millions of digits overflow its stack. */
function canonicalDigits({ text }: ExactNumber): string {
  const sign = text.startsWith('-') ? '-' : '';
  const mark = text.search(/[eE]/);
  const mantissa = text.slice(sign.length, mark === -1 ? undefined : mark);
  const power = mark === -1 ? '0' : text.slice(mark + 1);
  const point = mantissa.indexOf('.');
  const fraction = point === -1 ? '' : mantissa.slice(point + 1);
  const all = withoutZerosAtStart(point === -1 ? mantissa : mantissa.slice(0, point) + fraction);
  const digits = withoutZerosAtEnd(all);
  return `${sign}${digits}e${BigInt(power) - BigInt(fraction.length) + BigInt(all.length - digits.length)}`;
}

function withoutZerosAtStart(digits: string): string {
  let start = 0;
  while (digits.charCodeAt(start) === 48) start++;
  return digits.slice(start);
}

/** Strips zeros with a loop: `/0+$/` takes quadratic time on runs of zeros. */
function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end--;
  return digits.slice(0, end);
}

function requiredKeys(keyword: string, value: JsonValue): readonly string[] {
  if (!isJsonArray(value)) throw new UnusableSchema(`${keyword} must be a list of names`);
  return value.map((name) => {
    if (typeof name !== 'string') throw new UnusableSchema(`${keyword} must be a list of names`);
    return name;
  });
}

const required: Keyword = (value, _schema, { dialect }) => {
  // In draft 3 it is a flag in the schema of the property; see `properties`.
  if (dialect === 3 && typeof value === 'boolean') return undefined;
  const names = requiredKeys('required', value);
  return (candidate, run) => {
    if (!isJsonObject(candidate)) return undefined;
    run.spend(names.length);
    const missing = names.find((name) => !Object.hasOwn(candidate, name));
    return missing === undefined ? undefined : missingProperty(missing);
  };
};

/** Returns the failure of an object without a required property. */
export function missingProperty(name: string): Failure {
  return { keyword: 'required', missing: name, reason: `the property ${abbreviate(name, 200)} is missing` };
}

/** Returns the check that an object with a property has other properties too. */
export function dependentNames(keyword: string, property: string, value: JsonValue): Check {
  const names = requiredKeys(keyword, value);
  return (candidate, run) => {
    if (!isJsonObject(candidate) || !Object.hasOwn(candidate, property)) return undefined;
    run.spend(names.length);
    const missing = names.find((name) => !Object.hasOwn(candidate, name));
    if (missing === undefined) return undefined;
    return fail(keyword, `the property ${abbreviate(property, 200)} requires ${abbreviate(missing, 200)}`);
  };
}

export const assertions: ReadonlyMap<string, KeywordRow> = new Map<string, KeywordRow>([
  ['type', { make: typeKeyword }],
  ['disallow', { make: disallow, until: 3 }],
  ['enum', { make: enumKeyword }],
  ['const', { make: constKeyword, since: 6 }],
  ['minimum', { make: limitWithFlag('exclusiveMinimum', atLeast, above) }],
  ['maximum', { make: limitWithFlag('exclusiveMaximum', atMost, below) }],
  ['exclusiveMinimum', { make: above, since: 6 }],
  ['exclusiveMaximum', { make: below, since: 6 }],
  ['multipleOf', { make: multiple('multipleOf') }],
  ['divisibleBy', { make: multiple('divisibleBy'), until: 3 }],
  ['minLength', { make: sizeLimit('minLength', 'at least # characters', textLength, isAtLeast) }],
  ['maxLength', { make: sizeLimit('maxLength', 'at most # characters', textLength, isAtMost) }],
  ['minItems', { make: sizeLimit('minItems', 'at least # items', itemCount, isAtLeast) }],
  ['maxItems', { make: sizeLimit('maxItems', 'at most # items', itemCount, isAtMost) }],
  ['minProperties', { make: sizeLimit('minProperties', 'at least # properties', memberCount, isAtLeast) }],
  ['maxProperties', { make: sizeLimit('maxProperties', 'at most # properties', memberCount, isAtMost) }],
  ['pattern', { make: pattern }],
  ['uniqueItems', { make: uniqueItems }],
  ['required', { make: required }],
]);
