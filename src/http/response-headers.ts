// Values of headers that responses have in common.
import type { ResponseHeaders } from '../engine/exchange.ts';

/** Returns `Cache-Control` of a response for a single caller. */
export function cachingForOne(said: ResponseHeaders[string] | undefined): ResponseHeaders[string] {
  if (said === undefined) return 'no-cache, no-store';
  return typeof said === 'string' && said.startsWith('max-age=') ? `private, ${said}` : said;
}

/** Returns a header name in canonical case, so that lower-case names from other servers do not appear twice. */
export function canonicalName(name: string): string {
  if (name.charCodeAt(0) < 97) return name;
  return name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
