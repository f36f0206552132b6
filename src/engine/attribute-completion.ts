// Completes attributes by a JSON Schema: missing properties get their defaults, and scalar values are converted to the type
// in the schema. Follows `properties` and `items`, but no references.
import {
  ExactNumber,
  formatJson,
  getKey,
  isJsonObject,
  JsonSyntaxError,
  parseJson,
  setKey,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../base/json.ts';
import { copyMembers, StepBudget } from '../base/json-steps.ts';
import type { Steps } from '../base/steps.ts';

/** Returns the given attributes, or a completed copy. */
export type Completion = (attributes: JsonObject) => Steps<JsonObject>;

export interface CompletionOptions {
  /** Whether scalar values are converted. */
  readonly coerce: boolean;
}

/** What completion does in a value. */
interface Shape {
  readonly properties: readonly Property[];
  readonly items: Shape | undefined;
  /** Types to convert a scalar value to, where possible; `undefined`: no conversion. */
  readonly types: readonly string[] | undefined;
}

interface Property {
  readonly name: string;
  readonly byDefault: JsonValue | undefined;
  readonly shape: Shape | undefined;
}

/** Returns the completion for a schema, or `undefined` when it would change nothing. */
export function compileCompletion(schema: JsonObject, { coerce }: CompletionOptions): Completion | undefined {
  const shape = compileShape(schema, coerce, true);
  if (shape === undefined) return undefined;
  return (attributes) => completeObject(shape, attributes, new StepBudget());
}

/** @param fills whether missing properties get defaults; not in arrays, where a short request would create a large object */
function compileShape(schema: JsonValue, coerce: boolean, fills: boolean): Shape | undefined {
  if (!isJsonObject(schema)) return undefined;
  const declared = getKey(schema, 'properties');
  const items = getKey(schema, 'items');
  const properties = Object.entries(isJsonObject(declared) ? declared : {})
    .map(([name, rule]) => ({
      name,
      byDefault: fills && isJsonObject(rule) ? getKey(rule, 'default') : undefined,
      shape: compileShape(rule, coerce, fills),
    }))
    .filter(({ byDefault, shape }) => byDefault !== undefined || shape !== undefined);
  const shape: Shape = {
    properties,
    items: isJsonObject(items) ? compileShape(items, coerce, false) : undefined,
    types: coerce ? typesOf(schema) : undefined,
  };
  const isIdle = properties.length === 0 && shape.items === undefined && shape.types === undefined;
  return isIdle ? undefined : shape;
}

function typesOf(schema: JsonObject): readonly string[] | undefined {
  const type = getKey(schema, 'type');
  const types = Array.isArray(type) ? (type as JsonArray) : [type];
  const scalar = types.filter((each): each is string => each === 'string' || each === 'boolean' || isNumberType(each));
  return scalar.length === 0 ? undefined : scalar;
}

function isNumberType(type: JsonValue | undefined): boolean {
  return type === 'integer' || type === 'number';
}

function* complete(shape: Shape, value: JsonValue, budget: StepBudget): Steps<JsonValue> {
  if (isJsonObject(value)) return yield* completeObject(shape, value, budget);
  if (Array.isArray(value)) {
    return shape.items === undefined ? value : yield* completeItems(shape.items, value as JsonArray, budget);
  }
  return shape.types === undefined ? value : coerceScalar(value, shape.types);
}

function* completeObject({ properties }: Shape, value: JsonObject, budget: StepBudget): Steps<JsonObject> {
  let copy: MutableJsonObject | undefined;
  for (const { name, byDefault, shape } of properties) {
    if (budget.spend(1)) yield;
    const before = getKey(value, name);
    let after = before;
    if (before === undefined) after = byDefault;
    else if (shape !== undefined) after = yield* complete(shape, before, budget);
    if (after === undefined || after === before) continue;
    if (copy === undefined) {
      copy = {};
      yield* copyMembers(value, copy);
    }
    setKey(copy, name, after);
  }
  return copy ?? value;
}

function* completeItems(shape: Shape, items: JsonArray, budget: StepBudget): Steps<JsonArray> {
  let copy: JsonValue[] | undefined;
  for (const [index, item] of items.entries()) {
    if (budget.spend(1)) yield;
    const after = yield* complete(shape, item, budget);
    if (after === item) continue;
    copy ??= [...items];
    copy[index] = after;
  }
  return copy ?? items;
}

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Maximum length of a text that is converted to a number. */
const maxNumberChars = 100;

function coerceScalar(value: JsonValue, types: readonly string[]): JsonValue {
  const isNumber = typeof value === 'number' || value instanceof ExactNumber;
  const isOfType = types.some((type) => (isNumberType(type) ? isNumber : type === typeof value));
  if (isOfType || value === null) return value;
  if (typeof value !== 'string') return types.includes('string') ? formatJson(value) : value;
  if (types.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true';
  if (types.some(isNumberType) && value.length <= maxNumberChars && numberText.test(value)) {
    return parseNumber(value) ?? value;
  }
  return value;
}

/** Returns `undefined` for numbers out of range. */
function parseNumber(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
