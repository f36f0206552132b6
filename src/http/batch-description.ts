// The description of the batch endpoint.
import type { JsonObject } from '../base/json.ts';
import { namedSchema, objectWith, swaggerKeyword, type OperationDescription } from '../engine/description.ts';

const entryMembers: JsonObject = {
  method: { type: 'string', enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'] },
  path: { type: 'string', description: 'Path with query, with or without the version.' },
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  body: {
    description: 'The body of the request. An array is a JSON Patch.',
    type: ['object', 'array'],
    [swaggerKeyword]: { type: 'object' },
  },
};

/** @param maxRequests maximum number of requests; 0 means unlimited */
export function describeBatch(maxRequests: number): OperationDescription {
  return {
    summary: 'Executes several requests in one transaction.',
    details:
      'The requests are executed in order. `defaults` holds members that each request takes over unless it has its own.',
    body: { 'application/json': namedSchema('BatchRequest') },
    responses: {
      200: { description: 'A response for each request, in the same order.', schema: namedSchema('BatchResponse') },
    },
    errors: [409],
    schemas: {
      BatchRequest: {
        type: 'object',
        properties: {
          defaults: { type: 'object', properties: entryMembers, additionalProperties: false },
          requests: {
            type: 'array',
            ...(maxRequests > 0 ? { maxItems: maxRequests } : {}),
            items: { type: 'object', properties: entryMembers, additionalProperties: false },
          },
        },
        required: ['requests'],
        additionalProperties: false,
      },
      BatchResponse: objectWith({ responses: { type: 'array', items: namedSchema('BatchEntryResponse') } }),
      BatchEntryResponse: objectWith({
        status: { type: 'integer' },
        path: { type: 'string' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
        body: { description: 'The body: JSON, or a string when it is not JSON.' },
      }),
    },
  };
}
