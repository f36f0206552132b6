// Validation of an object that is about to be stored, by the rules of docs/reference/http-api/schema.md: which
// fields a schema gets to see, and under which name the first failure is reported.
import { LRUCache } from 'lru-cache';
import { formatJson, getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { compileSchema } from './compile.ts';
import { describeUnusable } from './meta.ts';
import type { Failure } from './run.ts';

export interface SchemaFailure {
  /** Name for the report: a property, an index, or a keyword when the object as a whole is wrong. */
  readonly name: string | number;
  readonly description: string;
}

export interface ValidationOptions {
  /** Fields the schema never sees, such as `last_modified`. */
  readonly internalFields: readonly string[];
}

type Validator = (value: JsonValue) => Failure | undefined;

/** Compiled schemas by what they say, up to so many, and so many characters of them. */
const validators = new LRUCache<string, Validator>({
  max: 500,
  maxSize: 20_000_000,
  sizeCalculation: (_validator, key) => key.length,
});

/**
 * The first thing wrong with an object; `undefined` when it is valid. A schema that cannot be used is reported under
 * the name `schema`.
 *
 * @param value the complete attributes, with `id` and whatever else a client sees
 */
export function validateAgainst(
  schema: JsonObject,
  value: JsonObject,
  { internalFields }: ValidationOptions,
): SchemaFailure | undefined {
  const hidden = new Set(internalFields);
  const declared = getKey(schema, 'properties');
  // Most schemas do not know that objects have an id; those that mention it want to see it.
  if (!isJsonObject(declared) || !Object.hasOwn(declared, 'id')) hidden.add('id');
  const visible = Object.fromEntries(Object.entries(value).filter(([key]) => !hidden.has(key)));
  try {
    const failure = findValidator(withoutRequired(schema, hidden))(visible);
    return failure && { name: failure.missing ?? failure.at ?? failure.keyword, description: failure.reason };
  } catch (error) {
    return { name: 'schema', description: describeUnusable(error) };
  }
}

function findValidator(schema: JsonObject): Validator {
  const text = formatJson(schema);
  let validator = validators.get(text);
  if (validator === undefined) {
    validator = compileSchema(schema);
    validators.set(text, validator);
  }
  return validator;
}

/** The schema without the names in its own list of required properties. */
function withoutRequired(schema: JsonObject, names: ReadonlySet<string>): JsonObject {
  const required = getKey(schema, 'required');
  if (!Array.isArray(required)) return schema;
  const kept = (required as readonly JsonValue[]).filter((name) => typeof name !== 'string' || !names.has(name));
  return kept.length === required.length ? schema : { ...schema, required: kept };
}
