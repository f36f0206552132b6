// The check of a value before it is stored as a schema (docs/reference/http-api/schema.md). The meta-schema of draft 7
// decides for all drafts. Unsupported schemas are refused too, for example patterns with backreferences, because every write
// below them would fail.
import { isJsonObject, type JsonValue } from '../../base/json.ts';
import { formatInSteps } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { compileSchema, requireUsableSchema, type Validator } from './compile.ts';
import { draft07 } from './meta-schema.ts';
import { TooMuchWork, UnusableSchema } from './run.ts';

/** Maximum length of a schema in characters of JSON text. */
export const maxSchemaChars = 1_000_000;

let findFault: Validator | undefined;

/** Returns why the value cannot be stored as a schema, or `undefined`. Does not resolve references. */
export function* checkSchema(value: JsonValue): Steps<string | undefined> {
  if (!isJsonObject(value)) return 'expected an object';
  try {
    if ((yield* formatInSteps(value)).length > maxSchemaChars) return `longer than ${maxSchemaChars} characters`;
    findFault ??= yield* compileSchema(draft07);
    const fault = yield* findFault(value);
    if (fault !== undefined) return `${fault.at === undefined ? '' : `${fault.at}: `}${fault.reason}`;
    yield* requireUsableSchema(value);
    return undefined;
  } catch (error) {
    return describeUnusable(error);
  }
}

/**
 * Returns the message of an error about a schema.
 *
 * @throws any other error
 */
export function describeUnusable(error: unknown): string {
  if (error instanceof UnusableSchema) return error.message;
  if (error instanceof TooMuchWork) return 'validation takes too much work';
  throw error;
}
