// Validation of an object that is about to be stored, by the rules of docs/reference/http-api/schema.md: which
// fields a schema gets to see, and under which name the first failure is reported.
import { LRUCache } from 'lru-cache';
import {
  getKey,
  isJsonObject,
  setKey,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';
import { copyMembers, formatInSteps } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { compileSchema, type Validator } from './compile.ts';
import { describeUnusable } from './check-schema.ts';

export interface SchemaFailure {
  /** Name for the report: a property, an index, or a keyword when the object as a whole is wrong. */
  readonly name: string | number;
  readonly description: string;
}

export interface ValidationOptions {
  /** Fields the schema never sees, such as `last_modified`. */
  readonly internalFields: readonly string[];
  /** Id of the object, for schemas that declare a property `id`. */
  readonly id?: string;
}

/** Compiled schemas by what they say, up to so many, and so many characters of them. */
const validators = new LRUCache<string, Validator>({
  max: 500,
  maxSize: 20_000_000,
  sizeCalculation: (_validator, key) => key.length,
});

/** The validator of a schema that was used before, found without writing the schema as text. */
const lastValidators = new WeakMap<JsonObject, { readonly hidden: string; readonly validator: Validator }>();

/**
 * The first thing wrong with an object; `undefined` when it is valid. A schema that cannot be used is reported under
 * the name `schema`.
 *
 * @param value the attributes
 */
export function* validateAgainst(
  schema: JsonObject,
  value: JsonObject,
  { internalFields, id }: ValidationOptions,
): Steps<SchemaFailure | undefined> {
  const hidden = new Set(internalFields);
  const declared = getKey(schema, 'properties');
  // Most schemas do not know that objects have an id; those that mention it want to see it.
  const showsId = isJsonObject(declared) && Object.hasOwn(declared, 'id');
  if (!showsId) hidden.add('id');
  const visible = yield* findVisible(value, hidden, showsId ? id : undefined);
  try {
    const validator = yield* findValidator(schema, hidden);
    const failure = yield* validator(visible);
    return failure && { name: failure.missing ?? failure.at ?? failure.keyword, description: failure.reason };
  } catch (error) {
    return { name: 'schema', description: describeUnusable(error) };
  }
}

/** What a schema gets to see; the value itself where that is all of it. */
function* findVisible(value: JsonObject, hidden: ReadonlySet<string>, id: string | undefined): Steps<JsonObject> {
  if (id === undefined && [...hidden].every((name) => !Object.hasOwn(value, name))) return value;
  const visible: MutableJsonObject = {};
  yield* copyMembers(value, visible, (key) => hidden.has(key));
  if (id !== undefined) setKey(visible, 'id', id);
  return visible;
}

function* findValidator(schema: JsonObject, hidden: ReadonlySet<string>): Steps<Validator> {
  const names = [...hidden].join();
  const last = lastValidators.get(schema);
  if (last?.hidden === names) return last.validator;
  const seen = withoutRequired(schema, hidden);
  const text = yield* formatInSteps(seen);
  let validator = validators.get(text);
  if (validator === undefined) {
    validator = yield* compileSchema(seen);
    validators.set(text, validator);
  }
  lastValidators.set(schema, { hidden: names, validator });
  return validator;
}

/** The schema without the names in its own list of required properties. */
function withoutRequired(schema: JsonObject, names: ReadonlySet<string>): JsonObject {
  const required = getKey(schema, 'required');
  if (!Array.isArray(required)) return schema;
  const kept = (required as readonly JsonValue[]).filter((name) => typeof name !== 'string' || !names.has(name));
  return kept.length === required.length ? schema : { ...schema, required: kept };
}
