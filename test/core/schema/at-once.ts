// Schemas in one go: tests look at what comes out, and small schemas take one step anyway.
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { runAtOnce } from '../../../src/base/steps.ts';
import * as compile from '../../../src/core/schema/compile.ts';
import * as meta from '../../../src/core/schema/check-schema.ts';
import type { Verdict } from '../../../src/core/schema/run.ts';
import * as validate from '../../../src/core/schema/validate.ts';

export function compileSchema(schema: JsonObject): (value: JsonValue) => Verdict {
  const validator = runAtOnce(compile.compileSchema(schema));
  return (value) => runAtOnce(validator(value));
}

export function checkSchema(value: JsonValue): string | undefined {
  return runAtOnce(meta.checkSchema(value));
}

export function validateAgainst(
  schema: JsonObject,
  value: JsonObject,
  options: validate.ValidationOptions,
): validate.SchemaFailure | undefined {
  return runAtOnce(validate.validateAgainst(schema, value, options));
}
