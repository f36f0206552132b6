// Content negotiation: media types of bodies and responses.
import { invalidParameters } from '../core/errors.ts';
import type { Endpoint, Operation } from '../engine/endpoint.ts';
import { mediaType, type RequestHeaders } from '../engine/exchange.ts';
import type { Target } from './target.ts';

type Query = Target['query'];

/**
 * Refuses a request with an unsupported media type, even with an empty body, and one from a client that accepts neither JSON
 * nor the event stream that it asks for.
 *
 * @param query of the request
 * @throws ServiceError unsupportedMediaType, notAcceptable
 */
export function requireUsableTypes(
  endpoint: Endpoint,
  operation: Operation,
  headers: RequestHeaders,
  query: Query,
): void {
  const { accept } = headers;
  if (endpoint.isResource && !accepts(accept, jsonRanges) && !(isStream(query) && accepts(accept, streamRanges))) {
    throw invalidParameters(
      [{ location: 'header', name: 'Accept', description: 'Accept must allow application/json' }],
      'notAcceptable',
    );
  }
  const type = headers['content-type'];
  if (operation.consumes === undefined || type === undefined) return;
  const name = mediaType(type);
  if (!operation.consumes.includes(name)) {
    throw invalidParameters(
      [
        {
          location: 'header',
          name: 'Content-Type',
          description: `Content-Type must be ${operation.consumes.join(' or ')}, not "${name.slice(0, maxShownChars)}"`,
        },
      ],
      'unsupportedMediaType',
    );
  }
}

/** Maximum number of characters of a media type in an error. */
const maxShownChars = 80;

/** Ranges that contain a media type, the most specific first. */
const jsonRanges: readonly string[] = ['application/json', 'application/*', '*/*'];
const streamRanges: readonly string[] = ['text/event-stream', 'text/*', '*/*'];

/** Whether the response is an event stream, of which `EventSource` accepts nothing else. */
function isStream(query: Query): boolean {
  return query.some(([name, value]) => name === '_live' && value === 'sse');
}

/** Whether the client accepts a type: the most specific matching range decides; an absent or empty header accepts anything. */
function accepts(accept: string | undefined, ranges: readonly string[]): boolean {
  if (accept === undefined || accept === '*/*' || accept === ranges[0] || accept.trim() === '') return true;
  let best = ranges.length;
  let quality = 0;
  for (const part of accept.split(',')) {
    const [range = '', ...parameters] = part.split(';');
    const exactness = ranges.indexOf(range.trim().toLowerCase());
    if (exactness === -1 || exactness > best) continue;
    const given = qualityOf(parameters);
    quality = exactness === best ? Math.max(quality, given) : given;
    best = exactness;
  }
  return quality > 0;
}

/** Whether the header lists HTML, as in the navigation of a browser. */
export function namesHtml(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('text/html')) return false;
  return accept.split(',').some((part) => {
    const [range = '', ...parameters] = part.split(';');
    return range.trim().toLowerCase() === 'text/html' && qualityOf(parameters) > 0;
  });
}

function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=');
    if (name.trim().toLowerCase() === 'q') return Number(value.trim()) || 0;
  }
  return 1;
}
