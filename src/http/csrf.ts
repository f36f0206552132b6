// Protection against cross-site request forgery: requests that a page of another site makes a browser send without a preflight
// and with stored credentials. The page cannot read the response, but the request would take effect.
import { invalidParameters, ServiceError } from '../core/errors.ts';
import type { Endpoint, Operation } from '../engine/endpoint.ts';
import type { ServiceRequest } from '../engine/exchange.ts';

/** `Sec-Fetch-Mode` of requests without preflight: forms, images, and scripts that do not read the response. */
const modesWithoutPreflight: readonly string[] = ['no-cors', 'navigate'];

/**
 * Refuses cross-site requests that may change data. Only browsers send the headers that identify them.
 *
 * @throws ServiceError forbidden, unsupportedMediaType
 */
export function rejectCrossSiteRequest(
  endpoint: Endpoint,
  operation: Operation,
  { headers, body }: ServiceRequest,
): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    if (endpoint.isForOperators === true || modesWithoutPreflight.includes(headers['sec-fetch-mode'] ?? '')) {
      throw new ServiceError('forbidden', { message: 'A page of another site sent this request.' });
    }
  }
  // Browsers send a preflight for JSON, but not for a body without a type.
  if (headers['origin'] === undefined || headers['content-type'] !== undefined) return;
  if (operation.consumes !== undefined && !body.isEmpty) {
    const description = `Content-Type must be ${operation.consumes.join(' or ')}`;
    throw invalidParameters([{ location: 'header', name: 'Content-Type', description }], 'unsupportedMediaType');
  }
}
