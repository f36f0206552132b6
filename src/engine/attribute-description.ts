// The JSON Schema that a kind declares for its attributes, made fit to stand inside of another document.
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { dialectOf } from '../core/schema/keyword.ts';
import type { CompiledKind } from './compiled-kind.ts';

/** Keywords that have another meaning, or another place, in a description. */
const ownKeywords: ReadonlySet<string> = new Set(['$schema', '$comment', 'definitions', '$defs']);

/** Keywords by which a schema depends on where it stands. */
const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$id', '$anchor']);

/** Returns the schema; an empty one for a kind without a schema, or with one that means something else elsewhere. */
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
