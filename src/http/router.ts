// From a decoded path to the endpoint that serves it. One table for everything: unknown paths, 405 and preflights are
// decided by the same records.
import FindMyWay from 'find-my-way';
import type { Endpoint } from '../engine/endpoint.ts';
import type { PathIds } from '../engine/context.ts';

export interface Route {
  readonly endpoint: Endpoint;
  readonly ids: PathIds;
}

export interface Router {
  /** The endpoint at a decoded path below the version prefix, or `undefined`. */
  find(path: string): Route | undefined;
}

/**
 * Paths are matched letter by letter: `{name}` is one segment, `{*}` at the end whatever follows, slashes included. No trailing slash, no empty segment, no other letter case is forgiven.
 */
export function createRouter(endpoints: readonly Endpoint[]): Router {
  const table = FindMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 1_000_000 });
  for (const endpoint of endpoints) {
    table.on('GET', routeOf(endpoint.path), () => undefined, endpoint);
  }
  return {
    find(path) {
      const match = table.find('GET', encodePath(path));
      if (match === null) return undefined;
      const ids = match.params as PathIds;
      for (const name in ids) if (ids[name] === '' && name !== '*') return undefined;
      return { endpoint: match.store as Endpoint, ids };
    },
  };
}

/** The path as the router writes it. An id that does not end its segment runs up to the character that follows it. */
function routeOf(path: string): string {
  return path
    .replaceAll(/\{(\w+)\}([^/{}])/g, ':$1([^$2/]+)$2')
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .replace('{*}', '*');
}

const plain = /^[\w\-.~/:@]*$/;

/** The router decodes what it matches, so the characters it would take for escapes are escaped once more. */
function encodePath(path: string): string {
  return plain.test(path) ? path : encodeURIComponent(path).replaceAll('%2F', '/').replaceAll('%40', '@');
}
