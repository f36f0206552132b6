// Shared error responses by status, and the schema of their bodies.
import type { JsonObject } from '../../base/json.ts';
import { namedSchema, type DescribedHeader, type DescribedResponse } from '../../engine/description.ts';

export const errorSchema: JsonObject = {
  type: 'object',
  description: 'The body of every error.',
  properties: {
    code: { type: 'integer', description: 'The status.' },
    errno: { type: 'integer', description: 'The number of the error. See the reference of errors.' },
    error: { type: 'string', description: 'The name of the error.' },
    message: { type: 'string', description: 'What is wrong, in one sentence.' },
    info: { type: 'string', description: 'URL of more information.' },
    details: { description: 'A list of all faults, or the object of the error.' },
  },
  required: ['code', 'errno', 'error'],
};

export interface SharedError extends DescribedResponse {
  /** Name among the shared responses of a document. */
  readonly name: string;
}

const retryAfter: DescribedHeader = {
  name: 'Retry-After',
  description: 'Seconds to wait before the request is repeated.',
  schema: { type: 'integer', minimum: 0 },
  isAlwaysSent: true,
};

/** Default error response. */
export const otherError = error('Error', 'Any other error.');

const byStatus: Readonly<Record<number, SharedError>> = {
  400: error('BadRequest', 'The request is malformed. `details` lists what is wrong.'),
  401: error('Unauthorized', 'The request needs valid credentials.'),
  403: error('Forbidden', 'The caller is not allowed to do this.'),
  404: error('NotFound', 'The object, or its parent, does not exist.'),
  406: error('NotAcceptable', 'The header `Accept` excludes JSON.'),
  409: error('Conflict', 'Another object has the timestamp, or, with details.field, the values of a unique index.'),
  410: error('Gone', 'Deletions since `_since` are no longer known completely.'),
  412: error('PreconditionFailed', 'A precondition does not hold. `details.existing` is the current object.'),
  413: error('TooLarge', 'The body is too large.'),
  415: error(
    'UnsupportedMediaType',
    'The media type of the body is not accepted, the body is compressed, or the header `Accept` excludes JSON.',
  ),
  429: { ...error('TooMany', 'The client sent too many requests. The service did nothing.'), headers: [retryAfter] },
  503: { ...error('Unavailable', 'The service is overloaded, or a backend does not respond.'), headers: [retryAfter] },
};

/** Returns the shared response for a status, by default `Error`. */
export function sharedError(status: number): SharedError {
  return byStatus[status] ?? otherError;
}

/** All shared responses, for their definitions. */
export const sharedErrorList: readonly SharedError[] = [...Object.values(byStatus), otherError];

function error(name: string, description: string): SharedError {
  return { name, description, schema: namedSchema('Error') };
}
