// Finds the endpoint of a decoded path. Unknown paths, 405 and preflights follow from the same table.
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
  /** Returns the route of a decoded path below the version prefix, or `undefined`. */
  find(path: string): Route | undefined;
}

/**
 * Returns a router. Paths match exactly and case-sensitively: `{name}` matches one segment, and `{*}` at the end any rest with
 * slashes. Trailing slashes and empty segments do not match.
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

/** Returns a path in the syntax of the router. A variable inside a segment ends before the character that follows it. */
function routeOf(path: string): string {
  return path
    .replaceAll(/\{(\w+)\}([^/{}])/g, ':$1([^$2/]+)$2')
    .replaceAll(/(?<=[^/{}])\{(\w+)\}/g, ':$1([^/]+)')
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .replace('{*}', '*');
}

const plain = /^[\w\-.~/:@]*$/;

/** Encodes a path, because the router decodes its input. */
function encodePath(path: string): string {
  return plain.test(path) ? path : encodeURIComponent(path).replaceAll('%2F', '/').replaceAll('%40', '@');
}
