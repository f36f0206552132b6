// The parts of the OpenAPI description that all kinds share: schemas, answers, parameters and headers.
import type { JsonObject, JsonValue } from '../../base/json.ts';

const retryAfter: JsonObject = {
  description: 'Seconds to wait before the request is repeated.',
  schema: { type: 'integer', minimum: 0 },
};

const errorContent: JsonObject = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };

const timestamp: JsonObject = {
  type: 'integer',
  minimum: 1,
  description: 'Milliseconds since 1970 UTC, unique in the list and always rising.',
};

export const components: JsonObject = {
  schemas: {
    Attributes: {
      type: 'object',
      description: 'Any JSON object. `id` and `last_modified` have their own meaning.',
      properties: { id: { type: 'string' }, last_modified: timestamp },
      additionalProperties: true,
    },
    StoredObject: {
      type: 'object',
      properties: { id: { type: 'string' }, last_modified: timestamp },
      required: ['id', 'last_modified'],
      additionalProperties: true,
    },
    Tombstone: {
      type: 'object',
      properties: { id: { type: 'string' }, last_modified: timestamp, deleted: { const: true } },
      required: ['id', 'last_modified', 'deleted'],
    },
    JsonPatch: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          op: { enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
          path: { type: 'string' },
          from: { type: 'string' },
          value: true,
        },
        required: ['op', 'path'],
      },
    },
    Error: {
      type: 'object',
      properties: {
        code: { type: 'integer', description: 'The status.' },
        errno: { type: 'integer', description: 'What is wrong, by number.' },
        error: { type: 'string' },
        message: { type: 'string' },
        info: { type: 'string' },
        details: true,
      },
      required: ['code', 'errno', 'error'],
    },
  },
  responses: {
    Error: {
      description: 'Something is wrong; the body says what.',
      content: errorContent,
    },
    TooMany: {
      description: 'There were too many requests, or too many attempts to log in. Nothing was done.',
      headers: { 'Retry-After': retryAfter },
      content: errorContent,
    },
    Unavailable: {
      description: 'Overloaded, or something that the service needs does not answer. Nothing was done, or all of it.',
      headers: { 'Retry-After': retryAfter },
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    List: {
      description: 'A page of the list, `Next-Page` leading to the next one.',
      headers: {
        ETag: { description: 'Timestamp of the list, in quotes.', schema: { type: 'string' } },
        'Next-Page': { description: 'Address of the next page, when there is one.', schema: { type: 'string' } },
        Resync: {
          description:
            'Only when deletions since `_since` were forgotten: the timestamp, in quotes, up to which they are not known.',
          schema: { type: 'string' },
        },
      },
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { data: { type: 'array', items: { $ref: '#/components/schemas/StoredObject' } } },
            required: ['data'],
          },
        },
      },
    },
    Tombstone: {
      description: 'What is left of the deleted object.',
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { data: { $ref: '#/components/schemas/Tombstone' } },
            required: ['data'],
          },
        },
      },
    },
  },
};

function query(name: string, description: string, schema: JsonObject): JsonObject {
  return { name, in: 'query', description, schema };
}

/** What every list understands; any other parameter filters by the attribute it names. */
export const listParameters: readonly JsonValue[] = [
  query('_since', 'Only what changed after this timestamp, deletions included.', { type: 'string' }),
  query('_before', 'Only what changed before this timestamp.', { type: 'string' }),
  query('_sort', 'Attributes to sort by, separated by commas; a minus sign reverses.', { type: 'string' }),
  query('_limit', 'Most objects on a page.', { type: 'integer', minimum: 0 }),
  query('_token', 'Place in the list, as in `Next-Page`.', { type: 'string' }),
  query('_fields', 'Attributes to show, separated by commas.', { type: 'string' }),
  {
    name: 'filters',
    in: 'query',
    description:
      'Filters by attribute: `name=value`, or with an operator before the name: `min_ max_ gt_ lt_ not_ in_ exclude_ like_ has_ contains_ contains_any_`.',
    style: 'form',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  },
];

export const preconditionHeaders: readonly JsonValue[] = [
  {
    name: 'If-Match',
    in: 'header',
    description: 'Only when the timestamp is still this one, in quotes; otherwise 412.',
    schema: { type: 'string' },
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description: '`*`: only when there is no such object; a timestamp in quotes: only when it has changed.',
    schema: { type: 'string' },
  },
];
