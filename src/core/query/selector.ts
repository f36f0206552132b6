// Parses selectors: conditions as JSON in the form that MongoDB, CouchDB and RxDB share. A selector becomes the filters that
// query strings are parsed into, so that every list treats both in the same way.
import {
  defaultJsonLimits,
  isJsonObject,
  isStorableText,
  JsonSyntaxError,
  parseJson,
  type JsonObject,
  type JsonValue,
} from '../../base/json.ts';
import { findClosestMatch } from '../../base/closest-match.ts';
import type { Issue } from '../errors.ts';
import { jsonTypes, type Comparison, type Condition, type Field, type Filter, type JsonType } from './ast.ts';
import { isJsonArray } from './compare.ts';
import { isIdField, isTimestampField, parseField } from './fields.ts';
import { issueOf } from './parameters.ts';
import { likeParts } from './like-parts.ts';

export interface SelectorLimits {
  /** Maximum number of conditions and combinations. */
  readonly maxNodes: number;
  /** Maximum number of combinations inside each other. */
  readonly maxDepth: number;
  /** Maximum number of values of all lists, such as those of `$in`. */
  readonly maxValues: number;
  /** Maximum length of all conditions of a query, in characters. */
  readonly maxChars: number;
}

export const defaultSelectorLimits: SelectorLimits = {
  maxNodes: 200,
  maxDepth: 10,
  maxValues: 1000,
  maxChars: 100_000,
};

interface SelectorOptions {
  readonly limits: SelectorLimits;
  /** Whether a field may be filtered by an operator; absent means always. */
  readonly allows?: ((field: Field, operator: Condition['operator']) => boolean) | undefined;
}

/** Thrown inside this module only; `parseSelector` returns it as an issue. */
class RefusedSelector extends Error {}

/** Returns the filters of a selector, all of which have to match, or an issue with the place of the fault. */
export function parseSelector(text: string, options: SelectorOptions): readonly Filter[] | Issue {
  try {
    return new SelectorParser(options).parse(readSelector(text));
  } catch (error) {
    if (!(error instanceof RefusedSelector)) throw error;
    return issueOf('_filter', error.message);
  }
}

function readSelector(text: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(text, { ...defaultJsonLimits, maxDepth: maxJsonDepth });
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new RefusedSelector(`expected JSON: ${error.message}`);
    throw error;
  }
  if (!isJsonObject(value)) throw new RefusedSelector('expected a JSON object, such as {"status": "open"}');
  return value;
}

/** Values may be as deep as stored ones. */
const maxJsonDepth = 512;

const comparisons: ReadonlyMap<string, Comparison> = new Map([
  ['$eq', 'eq'],
  ['$ne', 'not'],
  ['$gt', 'gt'],
  ['$gte', 'min'],
  ['$lt', 'lt'],
  ['$lte', 'max'],
]);

const conditions: readonly string[] = [
  ...comparisons.keys(),
  '$in',
  '$nin',
  '$exists',
  '$not',
  '$like',
  '$startsWith',
  '$contains',
  '$containsAny',
  '$elemMatch',
  '$size',
  '$type',
];
const combinations: readonly string[] = ['$and', '$or', '$nor', '$not'];

/** The value of an element of an array, in the conditions of `$elemMatch`. */
const element: Field = { name: '', path: [] };

interface Place {
  /** The place in the selector, for messages: `$or[1].status`. */
  readonly name: string;
  readonly depth: number;
  /** Whether the fields are those of an element of an array. */
  readonly isElement: boolean;
}

class SelectorParser {
  readonly #options: SelectorOptions;
  #nodes = 0;
  #values = 0;

  constructor(options: SelectorOptions) {
    this.#options = options;
  }

  parse(selector: JsonObject): readonly Filter[] {
    return this.#parseAll(selector, { name: '', depth: 0, isElement: false });
  }

  /** Returns the filters of an object with conditions on fields, and combinations. */
  #parseAll(selector: JsonObject, at: Place): readonly Filter[] {
    return Object.keys(selector).flatMap((key) => {
      const place = { ...at, name: at.name === '' ? key : `${at.name}.${key}` };
      const value = selector[key]!;
      return key.startsWith('$') ? this.#parseCombination(key, value, place) : this.#parseField(key, value, place);
    });
  }

  #parseCombination(operator: string, value: JsonValue, at: Place): readonly Filter[] {
    this.#count(at);
    if (!combinations.includes(operator)) throw unknownOperator(at.name, operator, combinations);
    if (operator === '$not') {
      return [{ operator: 'nor', branches: [this.#parseAll(requireObject(value, at), this.#inner(at))] }];
    }
    if (!isJsonArray(value) || value.length === 0) {
      throw new RefusedSelector(`${at.name}: expected an array of selectors`);
    }
    const branches = value.map((branch, number) => {
      const place = { ...this.#inner(at), name: `${at.name}[${number}]` };
      return this.#parseAll(requireObject(branch, place), place);
    });
    if (operator === '$and') return branches.flat();
    return [{ operator: operator === '$or' ? 'or' : 'nor', branches }];
  }

  /** Returns the filters on a field: of an object with operators, or of a value that it equals. */
  #parseField(name: string, value: JsonValue, at: Place): readonly Filter[] {
    if (!isStorableText(name)) throw new RefusedSelector('null characters and lone surrogates are not allowed');
    const field = parseField(name);
    if (!isJsonObject(value)) return this.#parseCondition(field, '$eq', value, at);
    return this.#parseOperators(field, value, at) ?? this.#parseCondition(field, '$eq', value, at);
  }

  /** Returns the filters of an object whose members are operators; `undefined` when it is a value. */
  #parseOperators(field: Field, value: JsonObject, at: Place): readonly Filter[] | undefined {
    const keys = Object.keys(value);
    const operators = keys.filter((key) => key.startsWith('$'));
    if (operators.length === 0) return undefined;
    if (operators.length < keys.length) {
      throw new RefusedSelector(`${at.name}: operators and other members do not mix`);
    }
    return operators.flatMap((operator) => {
      const place = { ...at, name: at.name === '' ? operator : `${at.name}.${operator}` };
      return this.#parseCondition(field, operator, value[operator]!, place);
    });
  }

  #parseCondition(field: Field, operator: string, value: JsonValue, at: Place): readonly Filter[] {
    this.#count(at);
    const comparison = comparisons.get(operator);
    if (comparison !== undefined) return this.#allow(at, { field, operator: comparison, value: value });
    switch (operator) {
      case '$in':
      case '$nin':
        return this.#allow(at, {
          field,
          operator: operator === '$in' ? 'in' : 'exclude',
          values: this.#list(value, at),
        });
      case '$contains':
      case '$containsAny': {
        const values = isJsonArray(value) ? this.#list(value, at) : [value];
        return this.#allow(at, { field, operator: operator === '$contains' ? 'contains' : 'contains_any', values });
      }
      case '$exists':
        if (typeof value !== 'boolean') throw new RefusedSelector(`${at.name}: expected true or false`);
        return this.#allow(at, { field, operator: 'has', present: value });
      case '$not':
        return this.#negate(field, value, at);
      case '$like':
        return this.#allow(at, { field, operator: 'like', parts: likeParts(textOf(value, at)) });
      case '$startsWith':
        return startingWith(field, textOf(value, at)).flatMap((filter) => this.#allow(at, filter));
      case '$size':
        if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
          throw new RefusedSelector(`${at.name}: expected a number of elements`);
        }
        return this.#allow(at, { field, operator: 'size', size: value });
      case '$type':
        return this.#allow(at, { field, operator: 'type', types: typesOf(value, at) });
      case '$elemMatch':
        return this.#allow(at, { field, operator: 'elements', filters: this.#elementFilters(value, at) });
      default:
        throw unknownOperator(at.name, operator, conditions);
    }
  }

  #negate(field: Field, value: JsonValue, at: Place): readonly Filter[] {
    const inner = this.#inner(at);
    const negated = this.#parseOperators(field, requireObject(value, at), inner);
    if (negated === undefined) throw new RefusedSelector(`${at.name}: expected operators, such as {"$gt": 3}`);
    return [{ operator: 'nor', branches: [negated] }];
  }

  /** Reads conditions on the elements of an array: on their members, or operators on the elements themselves. */
  #elementFilters(value: JsonValue, at: Place): readonly Filter[] {
    const object = requireObject(value, at);
    const inner = { ...this.#inner(at), isElement: true };
    const areOperators = Object.keys(object).every((key) => key.startsWith('$') && !combinations.includes(key));
    if (areOperators || Object.keys(object).join() === '$not')
      return this.#parseOperators(element, object, inner) ?? [];
    return this.#parseAll(object, inner);
  }

  #allow(at: Place, condition: Condition): readonly Filter[] {
    const { field, operator } = condition;
    if (at.isElement) {
      if (operator === 'like') throw new RefusedSelector(`${at.name}: not accepted for elements of arrays`);
      return [condition];
    }
    if (this.#options.allows?.(field, operator) === false) {
      throw new RefusedSelector(
        `${at.name}: objects of this list have no field ${field.name} to filter by in this way`,
      );
    }
    const isText = operator === 'like' || operator === 'contains' || operator === 'contains_any';
    if ((isTimestampField(field) && isText) || (isIdField(field) && operator.startsWith('contains'))) {
      throw new RefusedSelector(`${at.name}: not accepted for ${field.name}`);
    }
    return [condition];
  }

  #list(value: JsonValue, at: Place): readonly JsonValue[] {
    if (!isJsonArray(value)) throw new RefusedSelector(`${at.name}: expected an array of values`);
    const { maxValues } = this.#options.limits;
    this.#values += value.length;
    if (this.#values > maxValues) {
      throw new RefusedSelector(`${at.name}: more than ${maxValues} values of lists (max_selector_values)`);
    }
    return value;
  }

  #count(at: Place): void {
    const { maxNodes } = this.#options.limits;
    if (++this.#nodes > maxNodes) {
      throw new RefusedSelector(`${at.name}: more than ${maxNodes} conditions (max_selector_conditions)`);
    }
  }

  #inner(at: Place): Place {
    const { maxDepth } = this.#options.limits;
    if (at.depth + 1 > maxDepth) {
      throw new RefusedSelector(`${at.name}: more than ${maxDepth} levels (max_selector_depth)`);
    }
    return { ...at, depth: at.depth + 1 };
  }
}

function unknownOperator(place: string, operator: string, known: readonly string[]): RefusedSelector {
  const meant = findClosestMatch(operator, known);
  const hint = meant === undefined ? '.' : `; did you mean ${meant}?`;
  return new RefusedSelector(`${place}: unknown operator${hint} Accepted: ${known.join(', ')}`);
}

function requireObject(value: JsonValue, at: Place): JsonObject {
  if (!isJsonObject(value)) throw new RefusedSelector(`${at.name}: expected a JSON object`);
  return value;
}

function textOf(value: JsonValue, at: Place): string {
  if (typeof value !== 'string') throw new RefusedSelector(`${at.name}: expected a text`);
  return value;
}

function typesOf(value: JsonValue, at: Place): readonly JsonType[] {
  const names = isJsonArray(value) ? value : [value];
  const types = jsonTypes.filter((type) => names.includes(type));
  if (names.length === 0 || types.length < new Set(names).size) {
    throw new RefusedSelector(`${at.name}: expected one or more of ${jsonTypes.join(', ')}`);
  }
  return types;
}

/** Returns the texts that start with a text as a range, which an index can find. */
function startingWith(field: Field, start: string): readonly Condition[] {
  const isText: Condition = { field, operator: 'type', types: ['string'] };
  if (start === '') return [isText];
  const end = textAfter(start);
  const from: Condition = { field, operator: 'min', value: start };
  // Without a text above all that start so, only the type ends the range.
  return end === undefined ? [from, isText] : [from, { field, operator: 'lt', value: end }];
}

const lastCodePoint = 0x10ffff;
const [firstSurrogate, lastSurrogate] = [0xd800, 0xdfff];

/** Returns the first text above all texts that start with the given one. */
function textAfter(start: string): string | undefined {
  const points = Array.from(start, (character) => character.codePointAt(0)!);
  while (points.at(-1) === lastCodePoint) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === firstSurrogate ? lastSurrogate + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}
