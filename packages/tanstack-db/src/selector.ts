// Translates predicates of TanStack DB into selectors of the service. A selector finds every row that the predicate accepts,
// and may find more: TanStack DB evaluates the predicate again on the rows that were loaded.
//
// TanStack DB compares as JavaScript and SQL do: `null` and missing values make a comparison unknown, values of different types
// are coerced, and texts compare by UTF-16 units. The service orders values by type and texts by code point. Each rule
// below therefore says which rows of *other* types the predicate may accept as well.
import type { IR } from '@tanstack/db';
import type { Codecs } from './codecs.ts';

/** A condition of the service as JSON. */
export type Condition = Readonly<Record<string, unknown>>;

/** What a predicate becomes: a condition, `true` if it excludes nothing, or `false` if no row can match. */
export type Translated = Condition | boolean;

type Expression = IR.BasicExpression;

/** Limits of one request; the service has the same or higher ones. */
const maxNodes = 150;
const maxDepth = 8;

const lowestNumber = -Number.MAX_VALUE;
const highestText = '\u{10FFFF}';

/** Translates a predicate; `undefined` accepts all rows. */
export function translatePredicate(where: Expression | undefined, codecs: Codecs): Translated {
  if (where === undefined) return true;
  const result = translate(where, true, codecs);
  return typeof result === 'boolean' || sizeOf(result) <= maxNodes ? result : true;
}

/** Returns a condition that both fulfil. */
export function bothOf(...parts: readonly Translated[]): Translated {
  if (parts.includes(false)) return false;
  const conditions = parts.filter((part) => typeof part === 'object');
  if (conditions.length < 2) return conditions[0] ?? true;
  return { $and: conditions.flatMap((part) => conjuncts(part)) };
}

/** Returns the conditions that all have to match. */
export function conjuncts(condition: Condition): readonly Condition[] {
  return Array.isArray(condition['$and']) ? (condition['$and'] as readonly Condition[]) : [condition];
}

function eitherOf(...parts: readonly Translated[]): Translated {
  if (parts.includes(true)) return true;
  const conditions = parts.filter((part) => typeof part === 'object');
  if (conditions.length < 2) return conditions[0] ?? false;
  return { $or: conditions.flatMap((part) => (Array.isArray(part['$or']) ? (part['$or'] as Condition[]) : [part])) };
}

/**
 * @param wanted the result of the expression that the rows must have: `false` under a `not`. Rows for which it is unknown
 *   have neither.
 */
function translate(expression: Expression, wanted: boolean, codecs: Codecs): Translated {
  switch (expression.type) {
    case 'val':
      // Unknown has neither result, and other values than booleans have one that depends on where they are.
      return typeof (expression.value ?? !wanted) !== 'boolean' || (expression.value ?? !wanted) === wanted;
    case 'ref':
      return translateTruth(expression, wanted, codecs);
    case 'func':
      return translateCall(expression, wanted, codecs);
    default:
      return true;
  }
}

/** A field on its own. `and` and `or` treat values that are neither true nor false in different ways. */
function translateTruth(ref: IR.PropRef, wanted: boolean, codecs: Codecs): Translated {
  const field = fieldOf(ref, codecs);
  if (field === undefined || field.codec !== undefined || field.isSystem) return true;
  return wanted ? noneOf(field, [false]) : present(field);
}

function translateCall(call: IR.Func, wanted: boolean, codecs: Codecs): Translated {
  const [left, right] = call.args;
  switch (call.name) {
    case 'and':
    case 'or': {
      const parts = call.args.map((argument) => translate(argument, wanted, codecs));
      return (call.name === 'and') === wanted ? bothOf(...parts) : eitherOf(...parts);
    }
    case 'not':
      return left === undefined ? true : translate(left, !wanted, codecs);
    case 'isNull':
    case 'isUndefined':
      return translateAbsence(call.name, left, wanted, codecs);
    case 'eq':
      return translateEquality(left, right, wanted, codecs);
    case 'in':
      return translateMembership(left, right, wanted, codecs);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return translateRange(call.name, left, right, wanted, codecs);
    case 'like':
    case 'ilike':
      return translateLike(call.name, left, right, wanted, codecs);
    default:
      return true;
  }
}

type Argument = Expression | undefined;

/** A path is `null` if an object on the way is `null`, and undefined if one is missing. */
function translateAbsence(name: 'isNull' | 'isUndefined', of: Argument, wanted: boolean, codecs: Codecs): Translated {
  const field = fieldOf(of, codecs);
  if (field === undefined || field.isSystem) return true;
  if (field.codec !== undefined && (field.codec.comparable ?? 'none') === 'none') return true;
  const parents = field.path.slice(1).map((_, depth) => ({ [field.path.slice(0, depth + 1).join('.')]: null }));
  const itself = field.name;
  if (name === 'isNull') return wanted ? eitherOf({ [itself]: null }, ...parents) : { [itself]: { $ne: null } };
  return wanted ? { [itself]: { $exists: false } } : eitherOf({ [itself]: { $exists: true } }, ...parents);
}

function translateEquality(left: Argument, right: Argument, wanted: boolean, codecs: Codecs): Translated {
  const pair = pairOf(left, right, codecs);
  if (pair === undefined) return true;
  const { field, value } = pair;
  // A comparison with null is unknown: no row fulfils it, and none fulfils its negation.
  if (value === null || value === undefined) return false;
  const stored = storedValue(field, value, 'equality');
  if (stored === undefined) return wanted ? present(field) : true;
  return wanted ? { [field.name]: stored } : noneOf(field, [stored]);
}

function translateMembership(left: Argument, right: Argument, wanted: boolean, codecs: Codecs): Translated {
  if (left?.type === 'val' && right?.type === 'ref') return translateContains(left.value, right, wanted, codecs);
  const field = fieldOf(left, codecs);
  if (field === undefined || right?.type !== 'val' || !Array.isArray(right.value)) return true;
  const items = (right.value as readonly unknown[]).filter((item) => item !== null && item !== undefined);
  if (items.length === 0) return wanted ? false : present(field);
  const stored = items.map((item) => storedValue(field, item, 'equality'));
  if (stored.includes(undefined)) return present(field);
  return wanted ? { [field.name]: { $in: stored } } : noneOf(field, stored);
}

/** A value in an array of the row. */
function translateContains(value: unknown, array: IR.PropRef, wanted: boolean, codecs: Codecs): Translated {
  const field = fieldOf(array, codecs);
  if (value === null || value === undefined) return false;
  if (field === undefined || field.codec !== undefined || field.isSystem || !wanted || !isPlain(value)) return true;
  return { [field.name]: { $contains: [value] } };
}

type Range = 'gt' | 'gte' | 'lt' | 'lte';
const mirrored = { gt: 'lt', gte: 'lte', lt: 'gt', lte: 'gte' } as const;
const negated = { gt: 'lte', gte: 'lt', lt: 'gte', lte: 'gt' } as const;
const isLowerBound = (range: Range): boolean => range === 'gt' || range === 'gte';

function translateRange(name: Range, left: Argument, right: Argument, wanted: boolean, codecs: Codecs): Translated {
  const pair = pairOf(left, right, codecs);
  if (pair === undefined) return true;
  const { field, value, isSwapped } = pair;
  if (value === null || value === undefined) return false;
  const operator = isSwapped ? mirrored[name] : name;
  const range = wanted ? operator : negated[operator];
  // The service accepts whole timestamps that are not in the future.
  if (field.name === 'last_modified') return isTimestamp(value) ? { last_modified: { [`$${range}`]: value } } : true;
  const stored = storedValue(field, value, 'order');
  if (typeof stored === 'number') return rangeOfNumbers(field, range, stored);
  return typeof stored === 'string' ? rangeOfTexts(field, range, stored) : present(field);
}

/** Numbers in the range, and every value of another type except `null`: JavaScript coerces those. */
function rangeOfNumbers({ name }: Field, range: Range, value: number): Translated {
  return isLowerBound(range)
    ? eitherOf({ [name]: { [`$${range}`]: value, $exists: true } }, { [name]: { $gte: '', $lt: lowestNumber } })
    : eitherOf({ [name]: { $gte: '', [`$${range}`]: value } }, { [name]: { $gte: false, $exists: true } });
}

function rangeOfTexts(field: Field, range: Range, value: string): Translated {
  // Above U+D7FF, texts in UTF-16 units and in code points have different orders.
  if (/[\uD800-\uFFFF]/.test(value)) return present(field);
  if (field.isSystem) return { [field.name]: { [`$${range}`]: value } };
  return isLowerBound(range)
    ? { [field.name]: { [`$${range}`]: value, $exists: true } }
    : eitherOf(
        { [field.name]: { $gte: '', [`$${range}`]: value } },
        { [field.name]: { $gte: highestText, $exists: true } },
      );
}

/** `%` is any text. The service knows no sign for one character, ignores case, and gives `*` the meaning of `%`. */
function translateLike(
  name: 'like' | 'ilike',
  left: Argument,
  right: Argument,
  wanted: boolean,
  codecs: Codecs,
): Translated {
  const pair = pairOf(left, right, codecs);
  if (pair === undefined || pair.isSwapped) return true;
  const { field, value: pattern } = pair;
  if (pattern === null || pattern === undefined) return false;
  if (field.codec !== undefined || field.isSystem) return true;
  if (typeof pattern !== 'string') return wanted ? false : present(field);
  if (!wanted || !isStorable(pattern)) return present(field);
  if (name === 'like') {
    if (!/[%_]/.test(pattern)) return { [field.name]: pattern };
    const start = /^([^%_]+)%+$/.exec(pattern)?.[1];
    if (start !== undefined) return { [field.name]: { $startsWith: start } };
  }
  // The lower case of a capital sigma depends on the letters around it.
  const translated = (name === 'like' ? pattern.replaceAll('Σ', '*') : pattern).replaceAll(/[%_]/g, '*');
  if (/^\**$/.test(translated)) return { [field.name]: { $type: 'string' } };
  return { [field.name]: { $like: translated.includes('*') ? translated : `${translated}*` } };
}

interface Field {
  readonly name: string;
  readonly path: readonly string[];
  readonly codec: Codecs[string] | undefined;
  /** `id` and `last_modified`: every object has them, always with the same type. */
  readonly isSystem: boolean;
}

/** Returns the field that the service can address, or `undefined`. */
export function fieldOf(expression: Argument, codecs: Codecs): Field | undefined {
  if (expression?.type !== 'ref') return undefined;
  const { path: full, sourceAlias } = expression;
  const path = sourceAlias !== undefined && full[0] === sourceAlias ? full.slice(1) : full;
  const [first] = path;
  if (first === undefined || first.startsWith('$') || first === 'deleted') return undefined;
  const isAddressable = path.every((name, depth) => isMember(name) && !isInherited(name, depth));
  if (!isAddressable || (path.length > 1 && Object.hasOwn(codecs, first))) return undefined;
  const isSystem = path.length === 1 && (first === 'id' || first === 'last_modified');
  const codec = Object.hasOwn(codecs, first) ? codecs[first] : undefined;
  return { name: path.join('.'), path, codec, isSystem };
}

/** Values whose members, such as `length`, exist in JavaScript although no record has them. */
const inherited: readonly object[] = [Object(''), Object(0), []] as readonly object[];

function isInherited(name: string, depth: number): boolean {
  return depth === 0 ? name in {} : inherited.some((value) => name in value);
}

function isMember(name: string): boolean {
  return name !== '' && !name.includes('.') && !/^\d+$/.test(name) && isStorable(name);
}

interface Pair {
  readonly field: Field;
  readonly value: unknown;
  readonly isSwapped: boolean;
}

/** A field and the constant that it is compared with. */
function pairOf(left: Argument, right: Argument, codecs: Codecs): Pair | undefined {
  const isSwapped = left?.type === 'val';
  const constant = isSwapped ? left : right;
  const field = fieldOf(isSwapped ? right : left, codecs);
  return field === undefined || constant?.type !== 'val' ? undefined : { field, value: constant.value, isSwapped };
}

/** Returns what the service compares with, or `undefined` if only the client can compare. */
function storedValue(
  field: Field,
  value: unknown,
  purpose: 'equality' | 'order',
): string | number | boolean | undefined {
  const { codec } = field;
  let stored = value;
  if (codec !== undefined) {
    if (codec.comparable !== 'order' && codec.comparable !== purpose) return undefined;
    try {
      stored = codec.serialize(value);
    } catch {
      return undefined;
    }
  }
  if (!isPlain(stored)) return undefined;
  if (field.name === 'id') return typeof stored === 'string' ? stored : undefined;
  return field.name !== 'last_modified' || isTimestamp(stored) ? stored : undefined;
}

function isTimestamp(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= Date.now();
}

function isPlain(value: unknown): value is string | number | boolean {
  if (typeof value === 'string') return isStorable(value);
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

/** The service stores neither null characters nor lone surrogates, and refuses to search for them. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

/** Rows for which a comparison with the field is not unknown. */
function present(field: Field): Translated {
  return field.isSystem ? true : { [field.name]: { $ne: null, $exists: true } };
}

/** Rows with another value. */
function noneOf(field: Field, values: readonly unknown[]): Translated {
  return field.isSystem ? true : { [field.name]: { $nin: [...values, null], $exists: true } };
}

/** Returns an upper bound for the number of conditions, without end for those that are too deep. */
function sizeOf(condition: Condition, depth = 0): number {
  if (depth > maxDepth) return Infinity;
  let size = 1;
  for (const [key, inner] of Object.entries(condition)) {
    if (key !== '$and' && key !== '$or') size += 2;
    else for (const part of inner as readonly Condition[]) size += sizeOf(part, depth + 1);
  }
  return size;
}
