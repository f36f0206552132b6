// Converts JSON Schema to the subset of Swagger 2.0. Unsupported keywords are left out, so the result accepts all values that
// the original accepts.
import { isJsonObject, setKey, type JsonObject, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import { nameInReference, swaggerKeyword } from '../../engine/description.ts';

const plainKeywords = [
  'title',
  'description',
  'default',
  'multipleOf',
  'maximum',
  'minimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
  'enum',
  'format',
  'readOnly',
] as const;

/** Converts the schema of a body, a property or a definition. */
export function swaggerSchema(schema: JsonObject): JsonObject {
  const replacement = schema[swaggerKeyword];
  if (isJsonObject(replacement)) return swaggerSchema(replacement);
  const reference = schema['$ref'];
  if (reference !== undefined) {
    const name = typeof reference === 'string' ? nameInReference(reference) : undefined;
    return name === undefined ? {} : { $ref: `#/definitions/${name}` };
  }
  const result: MutableJsonObject = { ...typeOf(schema), ...plain(schema) };
  const { properties, items, allOf, additionalProperties, required } = schema;
  if (isJsonObject(properties)) result['properties'] = mapMembers(properties);
  if (result['type'] === 'array' || items !== undefined) result['items'] = nested(items ?? {});
  if (Array.isArray(allOf)) result['allOf'] = (allOf as readonly JsonValue[]).map(nested);
  if (typeof additionalProperties === 'boolean') result['additionalProperties'] = additionalProperties;
  else if (additionalProperties !== undefined) result['additionalProperties'] = nested(additionalProperties);
  const names = Array.isArray(required)
    ? (required as readonly JsonValue[]).filter((name) => typeof name === 'string')
    : [];
  if (names.length > 0) {
    result['required'] = names;
    // Validators of this format require a property for each required name.
    const known = isJsonObject(result['properties']) ? result['properties'] : {};
    result['properties'] = { ...Object.fromEntries(names.map((name) => [name, {}])), ...known };
  }
  return result;
}

/** Converts the schema of a parameter or header, which has one type and no named schemas. */
export function swaggerValue(schema: JsonObject): JsonObject {
  const { type } = schema;
  const single = (Array.isArray(type) ? (type as readonly JsonValue[])[0] : type) ?? 'string';
  const { description: _description, title: _title, pattern, minimum, ...rest } = plain(schema);
  if (single === 'array') {
    const { items } = schema;
    return { type: 'array', items: swaggerValue(isJsonObject(items) ? items : {}), collectionFormat: 'csv' };
  }
  return {
    type: single,
    ...rest,
    ...(single === 'string' && pattern !== undefined ? { pattern } : {}),
    ...(single !== 'string' && minimum !== undefined ? { minimum } : {}),
  };
}

/** Returns a single type; null becomes the extension `x-nullable`; several types cannot be expressed. */
function typeOf({ type, const: only }: JsonObject): JsonObject {
  const types = Array.isArray(type) ? (type as readonly JsonValue[]) : type === undefined ? [] : [type];
  const others = types.filter((name) => name !== 'null');
  return {
    ...(others.length === 1 ? { type: others[0]! } : {}),
    ...(others.length === 1 && types.length === 2 ? { 'x-nullable': true } : {}),
    ...(only === undefined ? {} : { enum: [only] }),
  };
}

function plain(schema: JsonObject): JsonObject {
  const kept: MutableJsonObject = {};
  for (const keyword of plainKeywords) {
    const value = schema[keyword];
    if (value !== undefined) kept[keyword] = value;
  }
  return kept;
}

function mapMembers(members: JsonObject): JsonObject {
  const mapped: MutableJsonObject = {};
  for (const [name, member] of Object.entries(members)) setKey(mapped, name, nested(member));
  return mapped;
}

/** Converts a subschema; `true` and `false` become empty schemas. */
function nested(schema: JsonValue): JsonObject {
  return isJsonObject(schema) ? swaggerSchema(schema) : {};
}
