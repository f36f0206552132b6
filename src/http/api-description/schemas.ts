// Named JSON Schemas for a document: selection of the used ones, and references in the form of the format.
import { isJsonObject, setKey, type JsonObject, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import { nameInReference, swaggerKeyword } from '../../engine/description.ts';

/** Returns the schemas to which one of the values refers, directly or through another schema. */
export function reachableSchemas(
  from: readonly JsonValue[],
  schemas: Readonly<Record<string, JsonObject>>,
): Readonly<Record<string, JsonObject>> {
  const names = new Set<string>();
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) for (const item of value as readonly JsonValue[]) visit(item);
    if (!isJsonObject(value)) return;
    const reference = value['$ref'];
    const name = typeof reference === 'string' ? nameInReference(reference) : undefined;
    const schema = name === undefined ? undefined : schemas[name];
    if (name !== undefined && schema !== undefined && !names.has(name)) {
      names.add(name);
      visit(schema);
    }
    for (const member of Object.values(value)) visit(member);
  };
  for (const value of from) visit(value);
  return Object.fromEntries([...names].toSorted().map((name) => [name, schemas[name]!]));
}

/**
 * Returns the schema with its references in the form of a document.
 *
 * @param section location of the named schemas, such as `#/components/schemas`
 */
export function referTo(schema: JsonObject, section: string): JsonObject {
  return rewrite(schema, (reference) => {
    const name = nameInReference(reference);
    return name === undefined ? reference : `${section}/${name}`;
  }) as JsonObject;
}

function rewrite(value: JsonValue, refer: (reference: string) => string): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((item) => rewrite(item, refer));
  if (!isJsonObject(value)) return value;
  const copy: MutableJsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (key === swaggerKeyword) continue;
    setKey(copy, key, key === '$ref' && typeof member === 'string' ? refer(member) : rewrite(member, refer));
  }
  return copy;
}
