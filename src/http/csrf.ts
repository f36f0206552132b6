// Requests that a page of another site makes a browser send, without asking first and with the credentials that the
// browser keeps for this service. Such a page cannot read the answer, but what it asked for would be done.
import { invalidParameters, ServiceError } from '../core/errors.ts';
import type { Endpoint, Operation } from '../engine/endpoint.ts';
import type { ServiceRequest } from '../engine/exchange.ts';

/** How browsers send what needs no permission: forms, images, and scripts that do not want the answer. */
const unasked: readonly string[] = ['no-cors', 'navigate'];

/**
 * Refuses what may change something and shows signs of such a page. Programs that are no browsers give none.
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
    if (endpoint.isForOperators === true || unasked.includes(headers['sec-fetch-mode'] ?? '')) {
      throw new ServiceError('forbidden', { message: 'A page of another site has sent this request.' });
    }
  }
  // Browsers ask before they send JSON elsewhere, but not before they send something of no type.
  if (headers['origin'] === undefined || headers['content-type'] !== undefined) return;
  if (operation.consumes !== undefined && !body.isEmpty) {
    const description = `Content-Type must be ${operation.consumes.join(' or ')}`;
    throw invalidParameters([{ location: 'header', name: 'Content-Type', description }], 'unsupportedMediaType');
  }
}
