// The JSON Schema that a kind declares for its attributes, in a form that can be embedded in another document.
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { dialectOf } from '../core/schema/dialect.ts';
import type { CompiledKind } from './compiled-kind.ts';

/** Keywords with another meaning or place in a description. */
const ownKeywords: ReadonlySet<string> = new Set(['$schema', '$comment', 'definitions', '$defs']);

/** Keywords that make a schema depend on its location. */
const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$id', '$anchor']);

/** Returns the schema; an empty one for a kind without a schema, or whose schema cannot be embedded. */
export function declaredAttributes({ attributes, declaration }: CompiledKind): JsonObject {
  const schema = attributes?.schema ?? declaration.describesAttributes ?? {};
  const isOld = dialectOf(schema) <= 4;
  if (isOld || holdsReference(schema)) return {};
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ownKeywords.has(keyword)));
}

function holdsReference(value: JsonValue): boolean {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).some(holdsReference);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, member]) => references.has(key) || holdsReference(member));
}
