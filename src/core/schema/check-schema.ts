// Whether a value may be stored as a schema (docs/reference/http-api/schema.md): draft 7 decides what a schema is,
// whatever draft it names; beyond that we refuse what we could never use, such as a pattern with a backreference,
// because every write below it would fail.
import { isJsonObject, type JsonValue } from '../../base/json.ts';
import { formatInSteps } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { compileSchema, requireUsableSchema, type Validator } from './compile.ts';
import { draft07 } from './meta-schema.ts';
import { TooMuchWork, UnusableSchema } from './run.ts';

/** Characters of JSON text a schema may have. */
export const maxSchemaChars = 1_000_000;

let findFault: Validator | undefined;

/** What keeps the value from being stored as a schema; `undefined` when nothing does. References are not resolved. */
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
 * The sentence for an error thrown because of the schema.
 *
 * @throws the error itself when it is another one
 */
export function describeUnusable(error: unknown): string {
  if (error instanceof UnusableSchema) return error.message;
  if (error instanceof TooMuchWork) return 'validation takes too much work';
  throw error;
}
