// Keywords that apply schemas to the members of a value or to the value itself.
import { abbreviate } from '../../base/abbreviate.ts';
import { getKey, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { isJsonArray } from '../query/compare.ts';
import { dependentNames, missingProperty, readCount } from './assertions.ts';
import { fail, type Compiler, type Keyword, type KeywordRow } from './keyword.ts';
import { isPending, Seen, UnusableSchema, type Check, type Failure, type Run, type Verdict } from './run.ts';
import type { SafePattern } from './safe-pattern.ts';

/** Applies a schema to a member and adds its key to the failure. Pauses when a pause is due. */
function* checkMember(check: Check, value: JsonValue, key: string | number, run: Run): Steps<Verdict> {
  run.spend(1);
  const found = check(value, run);
  const failure = isPending(found) ? yield* found : found;
  if (run.isDue) yield;
  return failure === undefined || failure.at !== undefined ? failure : { ...failure, at: key };
}

/** Returns the verdict of a check. Pauses when a pause is due. */
function* settle(found: Verdict | Steps<Verdict>, run: Run): Steps<Verdict> {
  const failure = isPending(found) ? yield* found : found;
  if (run.isDue) yield;
  return failure;
}

function readSchemas(keyword: string, value: JsonValue, compiler: Compiler): readonly Check[] {
  if (!isJsonArray(value)) throw new UnusableSchema(`${keyword} must be a list of schemas`);
  return value.map((schema) => compiler.check(schema));
}

function readSchemaMap(keyword: string, value: JsonValue | undefined, compiler: Compiler): ReadonlyMap<string, Check> {
  if (value === undefined) return new Map();
  if (!isJsonObject(value)) throw new UnusableSchema(`${keyword} must be an object of schemas`);
  return new Map(Object.keys(value).map((key) => [key, compiler.check(value[key]!)]));
}

const properties: Keyword = (value, _schema, compiler) => {
  const checks = readSchemaMap('properties', value, compiler);
  // In draft 3 the schema of a property says that it is required.
  const needed =
    compiler.dialect === 3 && isJsonObject(value)
      ? Object.keys(value).filter((key) => isJsonObject(value[key]) && getKey(value[key], 'required') === true)
      : [];
  return function* apply(candidate, run, seen) {
    if (!isJsonObject(candidate)) return undefined;
    const missing = needed.find((key) => !Object.hasOwn(candidate, key));
    if (missing !== undefined) return missingProperty(missing);
    run.spend(checks.size);
    for (const [key, check] of checks) {
      const member = getKey(candidate, key);
      if (member === undefined) continue;
      const failure = yield* checkMember(check, member, key, run);
      if (failure !== undefined) return failure;
      seen?.keys.add(key);
    }
    return undefined;
  };
};

function matches(pattern: SafePattern, text: string, run: Run): boolean {
  run.spend(pattern.stepsFor(text));
  return pattern.test(text);
}

const patternProperties: Keyword = (value, _schema, compiler) => {
  const checks = [...readSchemaMap('patternProperties', value, compiler)].map(
    ([text, check]) => [compiler.pattern(text), check] as const,
  );
  return function* apply(candidate, run, seen) {
    if (!isJsonObject(candidate)) return undefined;
    for (const key of Object.keys(candidate)) {
      for (const [pattern, check] of checks) {
        if (!matches(pattern, key, run)) continue;
        const failure = yield* checkMember(check, candidate[key]!, key, run);
        if (failure !== undefined) return failure;
        seen?.keys.add(key);
      }
    }
    return undefined;
  };
};

const additionalProperties: Keyword = (value, schema, compiler) => {
  const check = compiler.check(value);
  const declared = getKey(schema, 'properties');
  const patterns = getKey(schema, 'patternProperties');
  const names = new Set(isJsonObject(declared) ? Object.keys(declared) : []);
  const compiled = isJsonObject(patterns) ? Object.keys(patterns).map((text) => compiler.pattern(text)) : [];
  return function* apply(candidate, run, seen) {
    if (!isJsonObject(candidate)) return undefined;
    for (const key of Object.keys(candidate)) {
      run.spend(1);
      if (names.has(key) || compiled.some((pattern) => matches(pattern, key, run))) continue;
      const failure: Verdict =
        value === false
          ? unexpected('additionalProperties', key)
          : yield* checkMember(check, candidate[key]!, key, run);
      if (failure !== undefined) return failure;
      seen?.keys.add(key);
    }
    return undefined;
  };
};

/** Returns the failure of the whole object for a property that is not allowed. */
function unexpected(keyword: string, key: string): Failure {
  return fail(keyword, `the property ${abbreviate(key, 100)} is not allowed (${keyword})`);
}

const propertyNames: Keyword = (value, _schema, compiler) => {
  const check = compiler.check(value);
  return function* apply(candidate, run) {
    if (!isJsonObject(candidate)) return undefined;
    for (const key of Object.keys(candidate)) {
      run.spend(1);
      const failure = yield* settle(check(key, run), run);
      if (failure !== undefined) return fail('propertyNames', `the name ${abbreviate(key, 100)}: ${failure.reason}`);
    }
    return undefined;
  };
};

/** Requires other members, or applies a schema to the whole object, when a member exists. Before 2019-09 one keyword did both. */
function dependent(keyword: string): Keyword {
  return (value, _schema, compiler) => {
    if (!isJsonObject(value)) throw new UnusableSchema(`${keyword} must be an object`);
    const checks = Object.keys(value).map((property) =>
      compileDependency(keyword, property, value[property]!, compiler),
    );
    return function* apply(candidate, run, seen) {
      run.spend(checks.length);
      return yield* firstFailure(checks, candidate, run, seen);
    };
  };
}

function compileDependency(keyword: string, property: string, value: JsonValue, compiler: Compiler): Check {
  if (isJsonArray(value)) return dependentNames(keyword, property, value);
  if (typeof value === 'string' && compiler.dialect === 3) return dependentNames(keyword, property, [value]);
  const check = compiler.check(value);
  return (candidate, run, seen) =>
    isJsonObject(candidate) && Object.hasOwn(candidate, property) ? check(candidate, run, seen) : undefined;
}

function* firstFailure(checks: readonly Check[], value: JsonValue, run: Run, seen?: Seen): Steps<Verdict> {
  for (const check of checks) {
    const failure = yield* settle(check(value, run, seen), run);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function* checkItems(check: Check, items: JsonArray, from: number, run: Run): Steps<Verdict> {
  for (let index = from; index < items.length; index++) {
    const failure = yield* checkMember(check, items[index]!, index, run);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/** Applies one schema to each of the first items. */
function tuple(keyword: string): Keyword {
  return (value, _schema, compiler) => {
    const checks = readSchemas(keyword, value, compiler);
    return function* apply(candidate, run, seen) {
      if (!isJsonArray(candidate)) return undefined;
      const count = Math.min(checks.length, candidate.length);
      for (let index = 0; index < count; index++) {
        const failure = yield* checkMember(checks[index]!, candidate[index]!, index, run);
        if (failure !== undefined) return failure;
      }
      if (seen !== undefined) seen.itemsBefore = Math.max(seen.itemsBefore, count);
      return undefined;
    };
  };
}

/** Applies one schema to all items from an index on. */
function itemsFrom(value: JsonValue, from: number, compiler: Compiler): Check {
  const check = compiler.check(value);
  return function* apply(candidate, run, seen) {
    if (!isJsonArray(candidate)) return undefined;
    const failure = yield* checkItems(check, candidate, from, run);
    if (failure === undefined && seen !== undefined) seen.all = true;
    return failure;
  };
}

const items: Keyword = (value, schema, compiler) => {
  if (compiler.dialect === 2020) {
    const first = getKey(schema, 'prefixItems');
    return itemsFrom(value, isJsonArray(first) ? first.length : 0, compiler);
  }
  return isJsonArray(value) ? tuple('items')(value, schema, compiler) : itemsFrom(value, 0, compiler);
};

const additionalItems: Keyword = (value, schema, compiler) => {
  const first = getKey(schema, 'items');
  return isJsonArray(first) ? itemsFrom(value, first.length, compiler) : undefined;
};

const contains: Keyword = (value, schema, compiler) => {
  const check = compiler.check(value);
  const hasCounts = compiler.dialect >= 2019;
  const least = hasCounts ? getKey(schema, 'minContains') : undefined;
  const most = hasCounts ? getKey(schema, 'maxContains') : undefined;
  const min = least === undefined ? 1 : readCount('minContains', least);
  const max = most === undefined ? Infinity : readCount('maxContains', most);
  return function* apply(candidate, run, seen) {
    if (!isJsonArray(candidate)) return undefined;
    let count = 0;
    for (const [index, item] of candidate.entries()) {
      run.spend(1);
      if ((yield* settle(check(item, run), run)) !== undefined) continue;
      count++;
      if (compiler.dialect === 2020) seen?.keys.add(index);
      // One match is enough without an upper limit and without an outer schema that needs the indexes.
      if (count >= min && max === Infinity && seen === undefined) return undefined;
    }
    if (count > max) return fail('maxContains', `at most ${max} items may match`);
    if (count >= min) return undefined;
    return fail(min === 1 ? 'contains' : 'minContains', `at least ${min} of the items must match`);
  };
};

/** Applies a schema to the value itself. The members that it evaluated count only when the value is valid. */
function* tryCheck(check: Check, value: JsonValue, run: Run, seen: Seen | undefined): Steps<Verdict> {
  if (seen === undefined) return yield* settle(check(value, run), run);
  const own = new Seen();
  const failure = yield* settle(check(value, run, own), run);
  if (failure === undefined) {
    run.spend(own.keys.size);
    seen.merge(own);
  }
  return failure;
}

const allOf: Keyword = (value, _schema, compiler) => {
  const checks = readSchemas('allOf', value, compiler);
  return (candidate, run, seen) => firstFailure(checks, candidate, run, seen);
};

const anyOf: Keyword = (value, _schema, compiler) => {
  const checks = readSchemas('anyOf', value, compiler);
  const failure = fail('anyOf', 'none of the schemas of anyOf matches');
  return function* apply(candidate, run, seen) {
    let isValid = false;
    for (const check of checks) {
      if ((yield* tryCheck(check, candidate, run, seen)) !== undefined) continue;
      if (seen === undefined) return undefined;
      isValid = true;
    }
    return isValid ? undefined : failure;
  };
};

const oneOf: Keyword = (value, _schema, compiler) => {
  const checks = readSchemas('oneOf', value, compiler);
  const none = fail('oneOf', 'none of the schemas of oneOf matches');
  const several = fail('oneOf', 'more than one of the schemas of oneOf match');
  return function* apply(candidate, run, seen) {
    let count = 0;
    for (const check of checks) {
      if ((yield* tryCheck(check, candidate, run, seen)) !== undefined) continue;
      if (++count > 1) return several;
    }
    return count === 1 ? undefined : none;
  };
};

const not: Keyword = (value, _schema, compiler) => {
  const check = compiler.check(value);
  const failure = fail('not', 'the schema of not matches');
  return function* apply(candidate, run) {
    return (yield* settle(check(candidate, run), run)) === undefined ? failure : undefined;
  };
};

const ifKeyword: Keyword = (value, schema, compiler) => {
  const condition = compiler.check(value);
  const [then, otherwise] = ['then', 'else'].map((name) => compiler.check(getKey(schema, name) ?? true));
  return function* apply(candidate, run, seen) {
    const isMet = (yield* tryCheck(condition, candidate, run, seen)) === undefined;
    return yield* settle((isMet ? then! : otherwise!)(candidate, run, seen), run);
  };
};

/** Draft 3: one or several schemas that must match too. */
const extendsKeyword: Keyword = (value, schema, compiler) =>
  allOf(isJsonArray(value) ? value : [value], schema, compiler);

/** Returns the check of members that no other keyword of the schema has evaluated. It runs last. */
export function compileUnevaluated(
  keyword: 'unevaluatedProperties' | 'unevaluatedItems',
  value: JsonValue,
  compiler: Compiler,
): (candidate: JsonValue, run: Run, seen: Seen) => Steps<Verdict> {
  const check = compiler.check(value);
  const ofItems = keyword === 'unevaluatedItems';
  return function* apply(candidate, run, seen) {
    const isConcerned = ofItems ? isJsonArray(candidate) : isJsonObject(candidate);
    if (!isConcerned || seen.all) return undefined;
    const members: Iterable<readonly [string | number, JsonValue]> = isJsonArray(candidate)
      ? candidate.entries()
      : Object.entries(candidate as JsonObject);
    for (const [key, member] of members) {
      run.spend(1);
      if (seen.has(key)) continue;
      const failure = value === false ? unexpected(keyword, String(key)) : yield* checkMember(check, member, key, run);
      if (failure !== undefined) return failure;
    }
    seen.all = true;
    return undefined;
  };
}

export const applicators: ReadonlyMap<string, KeywordRow> = new Map<string, KeywordRow>([
  ['properties', { make: properties }],
  ['patternProperties', { make: patternProperties }],
  ['additionalProperties', { make: additionalProperties }],
  ['propertyNames', { make: propertyNames, since: 6 }],
  ['dependencies', { make: dependent('dependencies') }],
  ['dependentRequired', { make: dependent('dependentRequired'), since: 2019 }],
  ['dependentSchemas', { make: dependent('dependentSchemas'), since: 2019 }],
  ['prefixItems', { make: tuple('prefixItems'), since: 2020 }],
  ['items', { make: items }],
  ['additionalItems', { make: additionalItems, until: 2019 }],
  ['contains', { make: contains, since: 6 }],
  ['allOf', { make: allOf }],
  ['anyOf', { make: anyOf }],
  ['oneOf', { make: oneOf }],
  ['not', { make: not }],
  ['if', { make: ifKeyword, since: 7 }],
  ['extends', { make: extendsKeyword, until: 3 }],
]);
