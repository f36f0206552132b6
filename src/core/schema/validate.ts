// Validation of objects before they are stored, by the rules of docs/reference/http-api/schema.md: the fields that the schema
// sees, and the name under which the first failure is reported.
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
  /** Name in the error: a property, an index, or a keyword for a failure of the whole object. */
  readonly name: string | number;
  readonly description: string;
}

export interface ValidationOptions {
  /** Fields hidden from the schema, such as `last_modified`. */
  readonly internalFields: readonly string[];
  /** Id of the object, for schemas that declare a property `id`. */
  readonly id?: string;
}

/** Compiled schemas by their JSON text. */
const validators = new LRUCache<string, Validator>({
  max: 500,
  maxSize: 20_000_000,
  sizeCalculation: (_validator, key) => key.length,
});

/** The last validator of a schema object, found without formatting the schema. */
const lastValidators = new WeakMap<JsonObject, { readonly hidden: string; readonly validator: Validator }>();

/**
 * Returns the first failure of an object, or `undefined` when it is valid. An unusable schema is reported under the name
 * `schema`.
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
  // Only schemas that declare a property `id` see the id.
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

/** Returns the value without hidden fields; the value itself when it has none. */
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

/** Returns the schema without these names in its list of required properties. */
function withoutRequired(schema: JsonObject, names: ReadonlySet<string>): JsonObject {
  const required = getKey(schema, 'required');
  if (!Array.isArray(required)) return schema;
  const kept = (required as readonly JsonValue[]).filter((name) => typeof name !== 'string' || !names.has(name));
  return kept.length === required.length ? schema : { ...schema, required: kept };
}
