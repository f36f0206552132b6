// From a decoded path to the endpoint that serves it. One table for everything: unknown paths, 405 and preflights are
// decided by the same records.
import FindMyWay from 'find-my-way';
import type { Endpoint } from '../engine/endpoint.ts';
import { compilePathRules, type IdRules, type PathNames } from './path-rules.ts';

export interface Route extends PathNames {
  readonly endpoint: Endpoint;
}

interface Entry {
  readonly endpoint: Endpoint;
  readonly read: ReturnType<typeof compilePathRules>;
}

export interface Router {
  /** The endpoint at a decoded path below the version prefix, or `undefined`. */
  find(path: string): Route | undefined;
}

/**
 * Paths are matched letter by letter: `{name}` is one segment, `{*}` at the end whatever follows, slashes included. No
 * trailing slash, no empty segment, no other letter case is forgiven.
 *
 * @throws Error when a part of a path has no rule
 */
export function createRouter(endpoints: readonly Endpoint[], idRules: IdRules): Router {
  const table = FindMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 1_000_000 });
  for (const endpoint of endpoints) {
    const entry: Entry = { endpoint, read: compilePathRules(endpoint, idRules) };
    table.on('GET', routeOf(endpoint.path), () => undefined, entry);
  }
  return {
    find(path) {
      const match = table.find('GET', encodePath(path));
      if (match === null) return undefined;
      const { params } = match;
      for (const name in params) if (params[name] === '' && name !== '*') return undefined;
      const { endpoint, read } = match.store as Entry;
      const { ids, parameters, refused } = read(params as Readonly<Record<string, string>>);
      return refused === undefined ? { endpoint, ids, parameters } : { endpoint, ids, parameters, refused };
    },
  };
}

/** The path as the router writes it. A part that does not end its segment runs up to the character that follows it; one that does not begin it, to the end. */
function routeOf(path: string): string {
  return path
    .replaceAll(/\{(\w+)\}([^/{}])/g, ':$1([^$2/]+)$2')
    .replaceAll(/(?<=[^/{}])\{(\w+)\}/g, ':$1([^/]+)')
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .replace('{*}', '*');
}

const plain = /^[\w\-.~/:@]*$/;

/** The router decodes what it matches, so the characters it would take for escapes are escaped once more. */
function encodePath(path: string): string {
  return plain.test(path) ? path : encodeURIComponent(path).replaceAll('%2F', '/').replaceAll('%40', '@');
}
