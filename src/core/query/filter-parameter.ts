// Parses one filter parameter (`min_age=3`) into a filter, with the rules of each operator and of the fields that identify
// objects. See docs/reference/http-api/lists.md#filters.
import type { JsonValue } from '../../base/json.ts';
import type { Issue } from '../errors.ts';
import type { Condition, Field } from './ast.ts';
import { isJsonArray } from './compare.ts';
import { parseField } from './fields.ts';
import { isJson, issueOf, parseQueryValue, parseTimestamp, timestampForm } from './parameters.ts';
import { suggestFilter } from './suggestions.ts';
import { likeParts } from './like-parts.ts';

export interface FilterOptions {
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  /** Whether a field may be filtered by an operator; absent means always. */
  readonly allows?: ((field: Field, operator: Condition['operator']) => boolean) | undefined;
  /** Fields whose filters are always compared as text: `id=1` means the id "1". */
  readonly textFields: readonly string[];
}

// `contains_any` comes before its own prefix `contains`, so that it is tried first.
const comparisons = ['eq', 'not', 'lt', 'max', 'gt', 'min'] as const;
const operators = [...comparisons, 'in', 'exclude', 'like', 'has', 'contains_any', 'contains'] as const;
const operatorAndField = new RegExp(`^(${operators.join('|')})_([\\p{L}\\p{N}_.]+)$`, 'u');

/** Thrown inside this module only; `parseFilter` returns it as an issue. */
class RefusedFilter extends Error {}

/** Returns the filter of one parameter, or an issue when the parameter is refused. */
export function parseFilter(name: string, value: string, options: FilterOptions): Condition | Issue {
  try {
    return readFilter(name, value, options);
  } catch (error) {
    if (!(error instanceof RefusedFilter)) throw error;
    return issueOf(name, error.message);
  }
}

function readFilter(name: string, text: string, options: FilterOptions): Condition {
  const match = operatorAndField.exec(name);
  // A name without an operator is the name of a field.
  const operator = operators.find((known) => known === match?.[1]) ?? 'eq';
  const field = parseField(match?.[2] ?? name);
  if (options.allows !== undefined && !options.allows(field, operator)) {
    const meant = operator === 'eq' ? suggestFilter(name) : undefined;
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    throw new RefusedFilter(`objects of this list have no field ${field.name} to filter by in this way${hint}`);
  }
  switch (operator) {
    case 'in':
    case 'exclude':
      return { field, operator, values: text.split(',').map((part) => readListed(field, part, options)) };
    case 'like':
      return { field, operator, parts: readParts(field, text) };
    case 'has':
      return { field, operator, present: readPresence(text) };
    case 'contains':
    case 'contains_any':
      return { field, operator, values: readElements(field, text) };
    default:
      return { field, operator, value: readCompared(field, text, options) };
  }
}

function readCompared(field: Field, text: string, { now, textFields }: FilterOptions): JsonValue {
  if (field.name === 'last_modified') return readTimestamp(text, now);
  if (!textFields.includes(field.name)) return readTyped(text);
  const value = readValue(text);
  return typeof value === 'string' ? value : text;
}

/** Reads one value of a list. Ids have to be strings here; other text fields accept any value. */
function readListed(field: Field, text: string, options: FilterOptions): JsonValue {
  if (field.name !== 'id') return readCompared(field, text, options);
  const value = readValue(text);
  if (typeof value !== 'string')
    throw new RefusedFilter('expected a list of strings; quote ids that look like numbers');
  return value;
}

function readParts(field: Field, text: string): readonly string[] {
  if (field.name === 'last_modified') throw new RefusedFilter('timestamps cannot be searched as text');
  const value = readValue(text);
  return likeParts(typeof value === 'string' ? value : text);
}

const presence: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['false', false],
  ['0', false],
  ['no', false],
]);

function readPresence(text: string): boolean {
  const value = readValue(text);
  const present = presence.get((typeof value === 'string' ? value : text).toLowerCase());
  if (present === undefined) throw new RefusedFilter('expected true or false');
  return present;
}

function readElements(field: Field, text: string): readonly JsonValue[] {
  if (field.name === 'id' || field.name === 'last_modified') throw new RefusedFilter(`${field.name} is no array`);
  const value = readTyped(text);
  return isJsonArray(value) ? value : [value];
}

function readTimestamp(text: string, now: number): number {
  const timestamp = parseTimestamp(text, now);
  if (timestamp === undefined) throw new RefusedFilter(timestampForm);
  return timestamp;
}

function readValue(text: string): JsonValue {
  const value = parseQueryValue(text);
  if (value === undefined) throw new RefusedFilter('null characters and lone surrogates are not allowed');
  return value;
}

/** Reads a value of any type. A number that is out of range is no text, with which other values would be compared. */
function readTyped(text: string): JsonValue {
  const value = readValue(text);
  if (value === text && isJson(text))
    throw new RefusedFilter('numbers out of range and too many levels are not allowed');
  return value;
}
