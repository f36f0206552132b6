// Tests entries in steps where many conditions meet a large object. The functions of `evaluate.ts` define the results.
import { ExactNumber, isJsonObject, type JsonValue } from '../../base/json.ts';
import { formatInSteps, StepBudget } from '../../base/json-steps.ts';
import { keysOfObject } from '../../base/json-keys.ts';
import type { Steps } from '../../base/steps.ts';
import { charsOf, isTombstone, type StoredEntry } from '../objects/stored.ts';
import { workOfEntry, type QueryBudget } from './budget.ts';
import { isCombination, type Condition, type Field, type Filter } from './ast.ts';
import { containsInSteps, containsValue, equalInSteps, isJsonArray } from './compare.ts';
import { matches, matchesFilter, matchesValue, roomBetweenEnds } from './evaluate.ts';
import { isUniqueField, readEntryField, readField } from './fields.ts';
import { findText } from './find-text.ts';
import { isScalar, setOf } from './value-set.ts';
import { foldCase } from './fold-case.ts';

/** Work of one step: characters of objects, times the weight of the filters. Takes some milliseconds. */
const stepWork = 1_000_000;

const weights = new WeakMap<readonly Filter[], number>();

/** Returns how many times the filters may look at each value inside an object. */
export function weightOf(filters: readonly Filter[], areOfElements = false): number {
  let weight = weights.get(filters);
  if (weight === undefined) {
    weight = filters.reduce((sum, filter) => sum + weightOfOne(filter, areOfElements), 0);
    weights.set(filters, weight);
  }
  return weight;
}

function weightOfOne(filter: Filter, isOfElements: boolean): number {
  if (isCombination(filter)) return filter.branches.reduce((sum, branch) => sum + weightOf(branch, isOfElements), 0);
  // Ids and timestamps are short.
  if (!isOfElements && isUniqueField(filter.field)) return 0;
  switch (filter.operator) {
    case 'in':
    case 'exclude':
    case 'contains':
    case 'contains_any':
      return 1 + setOf(filter.values).nested.reduce<number>((sum, value) => sum + countValues(value), 0);
    case 'elements':
      return 1 + weightOf(filter.filters, true);
    case 'like':
      return 2;
    default:
      return 1;
  }
}

/**
 * Work of the test of an element of an array, in characters: elements may be shorter than the time of their tests suggests. The
 * elements of a `contains` filter are looked up.
 */
const workOfElement = 100;
const workOfLookUp = 10;

/** Returns the work of the filters on each character of an object, as `QueryBudget` counts it. */
export function workWeightOf(filters: readonly Filter[]): number {
  return filters.reduce((sum, filter) => sum + workWeightOfOne(filter), 0);
}

function workWeightOfOne(filter: Filter): number {
  if (isCombination(filter)) return filter.branches.reduce((sum, branch) => sum + workWeightOf(branch), 0);
  const weight = weightOfOne(filter, false);
  switch (filter.operator) {
    case 'elements':
      return workOfElement * weight;
    case 'contains':
    case 'contains_any':
      return workOfLookUp * weight;
    default:
      return weight;
  }
}

/** Returns the number of values in a value of a query, which is short. */
function countValues(value: JsonValue): number {
  if (isScalar(value)) return 1;
  return 1 + Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner), 0);
}

/** Returns the length of the text up to which an object is tested at once. */
export function longestAtOnce(filters: readonly Filter[]): number {
  return stepWork / weightOf(filters);
}

/** Measures the work of testing entries one after another, and notes it for the query. */
export class WorkMeter {
  readonly #longest: number;
  readonly #workWeight: number;
  readonly #charsOfStep: number;
  readonly #budget: QueryBudget | undefined;
  /** Characters that were tested since the last step. */
  #chars = 0;

  constructor(filters: readonly Filter[], budget?: QueryBudget) {
    this.#budget = budget;
    this.#workWeight = workWeightOf(filters);
    this.#charsOfStep = stepWork / Math.max(1, weightOf(filters));
    this.#longest = longestAtOnce(filters);
  }

  /** Whether the test of an entry should be done in steps. */
  isLong(entry: StoredEntry): boolean {
    return charsOf(entry) > this.#longest;
  }

  /** Notes a test; returns whether the step should end with it. */
  add(entry: StoredEntry): boolean {
    this.#chars += workOfEntry + charsOf(entry);
    if (this.#chars < this.#charsOfStep) return false;
    this.finish();
    return true;
  }

  /** Notes the last tests. */
  finish(): void {
    this.#budget?.spendOn(this.#chars, this.#workWeight);
    this.#chars = 0;
  }
}

/** Returns the result of `matches`, in steps when that may take long. */
export function* matchesInSteps(entry: StoredEntry, filters: readonly Filter[]): Steps<boolean> {
  if (charsOf(entry) <= longestAtOnce(filters)) return matches(entry, filters);
  yield;
  return yield* testInSteps(entry, filters);
}

/** Number of conditions up to which members are looked up in the text of a large object, which is not parsed. */
const fewConditions = 4;

/** Returns the result of `matches`, always in steps. */
export function* testInSteps(entry: StoredEntry, filters: readonly Filter[]): Steps<boolean> {
  // Kept until the end, since the parsed attributes of large objects may be garbage collected.
  const attributes = isTombstone(entry) || weightOf(filters) <= fewConditions ? undefined : yield* entry.read();
  const read = (field: Field): JsonValue | undefined =>
    attributes === undefined || field.path[0] === 'id' || field.path[0] === 'last_modified'
      ? readEntryField(entry, field)
      : readField(attributes, field);
  return yield* new SteppedTest().all(filters, read);
}

/** Characters that are searched in one step. */
const searchedPerStep = 100_000;
/** Members of a step that a search of so many characters takes. */
const searchCost = 1000;

class SteppedTest {
  readonly #budget = new StepBudget();
  /** The lower-cased texts of values that were searched. */
  readonly #searched = new Map<JsonValue, string>();

  *all(filters: readonly Filter[], read: (field: Field) => JsonValue | undefined): Steps<boolean> {
    for (const filter of filters) {
      const isMatch: boolean = isCombination(filter)
        ? (yield* this.#any(filter.branches, read)) === (filter.operator === 'or')
        : yield* this.#one(read(filter.field), filter);
      if (!isMatch) return false;
    }
    return true;
  }

  *#any(branches: readonly (readonly Filter[])[], read: (field: Field) => JsonValue | undefined): Steps<boolean> {
    for (const branch of branches) if (yield* this.all(branch, read)) return true;
    return false;
  }

  *#one(value: JsonValue | undefined, filter: Condition): Steps<boolean> {
    if (this.#budget.spend(costOf(value))) yield;
    switch (filter.operator) {
      case 'eq':
        return yield* equalInSteps(value, filter.value, this.#budget);
      case 'not':
        return !(yield* equalInSteps(value, filter.value, this.#budget));
      case 'in':
        return value !== undefined && (yield* this.#isOneOf(value, filter.values));
      case 'exclude':
        return value === undefined || !(yield* this.#isOneOf(value, filter.values));
      case 'like':
        return value !== undefined && value !== null && (yield* this.#isLike(value, filter.parts));
      case 'contains':
        return isJsonArray(value) && (yield* this.#holdsAll(value, filter.values));
      case 'contains_any':
        return isJsonArray(value) && (yield* this.#holdsAny(value, filter.values));
      case 'elements':
        return isJsonArray(value) && (yield* this.#hasElement(value, filter.filters));
      default:
        return matchesFilter(value, filter);
    }
  }

  *#isOneOf(value: JsonValue, values: readonly JsonValue[]): Steps<boolean> {
    const set = setOf(values);
    if (isScalar(value)) return set.find(value) !== undefined;
    for (const wanted of set.nested) if (yield* equalInSteps(value, wanted, this.#budget)) return true;
    return false;
  }

  *#holdsAny(array: readonly JsonValue[], values: readonly JsonValue[]): Steps<boolean> {
    const set = setOf(values);
    for (const element of array) {
      if (this.#budget.spend(costOf(element))) yield;
      if (isScalar(element)) {
        if (set.find(element) !== undefined) return true;
      } else {
        for (const wanted of set.nested) if (yield* this.#contains(element, wanted)) return true;
      }
    }
    return false;
  }

  *#holdsAll(array: readonly JsonValue[], values: readonly JsonValue[]): Steps<boolean> {
    const set = setOf(values);
    const missing = new Set(set.nested);
    const found = new Set<JsonValue>();
    for (const element of array) {
      if (this.#budget.spend(costOf(element))) yield;
      if (isScalar(element)) {
        const known = set.find(element);
        if (known !== undefined) found.add(known);
      } else {
        for (const wanted of missing) if (yield* this.#contains(element, wanted)) missing.delete(wanted);
      }
      if (found.size === set.size && missing.size === 0) return true;
    }
    return values.length === 0;
  }

  *#hasElement(array: readonly JsonValue[], filters: readonly Filter[]): Steps<boolean> {
    const weight = weightOf(filters, true);
    for (const element of array) {
      let isMatch: boolean;
      if (isSmall(element)) {
        if (this.#budget.spend(1 + weight)) yield;
        isMatch = matchesValue(element, filters);
      } else isMatch = yield* this.all(filters, (field) => readField(element, field));
      if (isMatch) return true;
    }
    return false;
  }

  *#contains(element: JsonValue, wanted: JsonValue): Steps<boolean> {
    if (!isSmall(element) || !isSmall(wanted)) return yield* containsInSteps(element, wanted, this.#budget);
    if (this.#budget.spend(1)) yield;
    return containsValue(element, wanted);
  }

  *#isLike(value: JsonValue, parts: readonly string[]): Steps<boolean> {
    let text = this.#searched.get(value);
    if (text === undefined) {
      text = foldCase(typeof value === 'string' ? value : yield* formatInSteps(value));
      this.#searched.set(value, text);
    }
    if (this.#budget.spend(searchCost)) yield;
    const room = roomBetweenEnds(text, parts);
    if (typeof room === 'boolean') return room;
    let { at } = room;
    for (let number = 1; number < parts.length - 1; number++) {
      const part = parts[number]!;
      const found = yield* this.#find(text, part, at, room.end);
      if (found === -1) return false;
      at = found + part.length;
    }
    return true;
  }

  *#find(text: string, part: string, from: number, to: number): Steps<number> {
    for (let at = from; at <= to; at += searchedPerStep) {
      const end = Math.min(to, at + searchedPerStep + part.length);
      const found = findText(text, part, at, end);
      if (this.#budget.spend(1 + (searchCost * ((found === -1 ? end : found) - at)) / searchedPerStep)) yield;
      if (found !== -1) return found;
    }
    return -1;
  }
}

/** Digits that are read in the time of a comparison. */
const digitsPerMember = 50;

/** Returns the work of a comparison with a value. Numbers with many digits take long. */
function costOf(value: JsonValue | undefined): number {
  return value instanceof ExactNumber ? 1 + value.text.length / digitsPerMember : 1;
}

/** Number of members up to which a value is small. */
const fewMembers = 20;

/** Whether a value is so small that a condition on it never takes long. */
function isSmall(value: JsonValue): boolean {
  if (isScalar(value)) return isShort(value);
  if (isJsonArray(value)) return value.length <= fewMembers && value.every(isShort);
  if (!isJsonObject(value)) return true;
  const keys = keysOfObject(value);
  return keys.length <= fewMembers && keys.every((key) => isShort(value[key]!));
}

function isShort(value: JsonValue): boolean {
  return isScalar(value) && costOf(value) < fewMembers;
}
