// Attributes with JSON schemas. They must be valid schemas even when validation is disabled.
import { getKey, isJsonObject, type JsonObject } from '../base/json.ts';
import type { Steps } from '../base/steps.ts';
import { checkSchema } from '../core/schema/check-schema.ts';
import type { Complain } from '../engine/kind.ts';

/** Returns a check that the named attributes are JSON schemas when present. */
export function checkSchemaAttributes(
  names: readonly string[],
): (attributes: JsonObject, complain: Complain) => Steps<JsonObject> {
  return function* check(attributes, complain) {
    for (const name of names) {
      const value = getKey(attributes, name);
      if (value === undefined) continue;
      const fault = isJsonObject(value) ? yield* checkSchema(value) : 'expected a JSON schema, which is an object';
      if (fault !== undefined) complain(name, fault);
    }
    return attributes;
  };
}
