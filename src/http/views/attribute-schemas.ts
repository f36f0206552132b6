// The JSON Schemas that kinds declare for their attributes, as descriptions of the API hold them.
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { dialectOf } from '../../core/schema/dialect.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';

/** What a description is of: `data` of a new object, `data` of a PATCH, or `data` of an answer. */
export type AttributeUse = 'sent' | 'patched' | 'stored';

/** What has another meaning, or another place, in a description. */
const ownKeywords: ReadonlySet<string> = new Set(['$schema', '$comment', 'definitions', '$defs']);

/**
 * Returns the schema of `data`, or `undefined` for kinds that declare none, or one that means something else inside another
 * document: with references, or in draft 3 or 4.
 */
export function attributeSchema({ attributes, declaration }: CompiledKind, use: AttributeUse): JsonObject | undefined {
  if (attributes === undefined) return undefined;
  const { schema } = attributes;
  if (dialectOf(schema) <= 4 || holdsReference(schema)) return undefined;
  const declared = getKey(schema, 'properties');
  const left = new Set(ownKeywords);
  // Answers have the members of the service as well, and a patch names only what it changes.
  if (use === 'stored') left.add('additionalProperties').add('unevaluatedProperties');
  if (use === 'patched') left.add('required');
  const kept = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !left.has(keyword)));
  const properties = { ...serverProperties, ...(isJsonObject(declared) ? declared : {}) };
  const refuses = use !== 'stored' && declaration.attributes?.unknown === 'refuse';
  return { type: 'object', ...kept, properties, ...(refuses ? { additionalProperties: false } : {}) };
}

const serverProperties: JsonObject = { id: { type: 'string' }, last_modified: { type: 'integer', minimum: 1 } };

const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$id', '$anchor']);

function holdsReference(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(holdsReference);
  if (!isJsonObject(value)) return false;
  return Object.keys(value).some((key) => references.has(key) || holdsReference(value[key]!));
}
