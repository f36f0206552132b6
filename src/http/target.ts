// The request target: decoding of path and query, and redirects that depend on the path only.
import { withoutSlashesAtEnd } from '../base/slashes-at-end.ts';
import { ServiceError } from '../core/errors.ts';
import type { ServiceResponse } from '../engine/exchange.ts';

export interface Target {
  /** Path as sent, percent escapes included, without query. */
  readonly rawPath: string;
  /** Decoded path; an encoded slash counts as a slash. */
  readonly path: string;
  /** Query as sent, with question mark, or `''`. */
  readonly search: string;
  /** Decoded pairs (form encoding). */
  readonly query: readonly (readonly [string, string])[];
}

/** Other characters must be percent-encoded in a path; a query may contain raw UTF-8. */
const visible = /^[\x21-\x7e]*$/;

const noPairs: Target['query'] = [];

/**
 * Splits and decodes a request target.
 *
 * @throws ServiceError malformedUrl for invalid UTF-8 or broken escapes
 */
export function parseTarget(target: string): Target {
  const start = target.startsWith('/') ? 0 : pathStart(target);
  const mark = target.indexOf('?', start);
  const rawPath = mark === -1 ? target.slice(start) : target.slice(start, mark);
  const search = mark === -1 ? '' : target.slice(mark);
  if (!visible.test(rawPath)) throw new ServiceError('malformedUrl');
  return {
    rawPath,
    path: rawPath.includes('%') ? decode(rawPath) : rawPath,
    search,
    query: search.length > 1 ? parseQuery(search.slice(1)) : noPairs,
  };
}

/** Returns the start of the path in an absolute-form target (`GET http://host/path`), which HTTP allows. */
function pathStart(target: string): number {
  const authority = target.indexOf('//');
  const slash = target.indexOf('/', authority + 2);
  return authority === -1 || slash === -1 ? target.length : slash;
}

function parseQuery(text: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = equals === -1 ? part : part.slice(0, equals);
    pairs.push([decodeForm(name), equals === -1 ? '' : decodeForm(part.slice(equals + 1))]);
  }
  return pairs;
}

function decodeForm(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decode(spaced) : spaced;
}

const escapes = /%(?![0-9a-fA-F]{2})/g;

/** Decodes percent escapes. A percent sign without an escape stands for itself; invalid UTF-8 is refused. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll(escapes, '%25'));
  } catch (cause) {
    throw new ServiceError('malformedUrl', { cause });
  }
}

export interface RedirectOptions {
  readonly versionPrefix: boolean;
  readonly versionPrefixTtlSeconds: number;
  readonly unsupportedVersion: boolean;
  readonly trailingSlash: boolean;
  readonly trailingSlashTtlSeconds: number;
}

/** A path before routing: the part below the version prefix, or a redirect. */
export type Located = { readonly below: string } | { readonly redirect: ServiceResponse };

const someVersion = /^\/v\d+(?=\/|$)/;

/** Prefixes of the paths of the service. */
export interface Place {
  /** Path before the version, such as `/api`; usually `''`. */
  readonly pathPrefix: string;
  /** Prefix of all paths, `/v1` or `/api/v1`. */
  readonly versionPrefix: string;
}

/** Strips the path prefix and any version from a path. */
export function withoutPrefixes(path: string, { pathPrefix }: Place): string {
  const inside = path.startsWith(`${pathPrefix}/`) ? path.slice(pathPrefix.length) : path;
  return inside.replace(someVersion, '') || '/';
}

/** No path of the service contains control characters, so such paths are not redirected. */
const control = /\p{Cc}/u;

/**
 * Finds the version prefix.
 *
 * @param origin `http://host:port` for absolute locations
 * @throws ServiceError unknownVersion, unknownPath
 */
export function locate(target: Target, place: Place, origin: string, options: RedirectOptions): Located {
  const { path, rawPath, search } = target;
  const { pathPrefix, versionPrefix: prefix } = place;
  if (path.startsWith(`${prefix}/`)) return { below: path.slice(prefix.length) };
  if (path === prefix) {
    if (!options.trailingSlash) throw new ServiceError('unknownPath');
    return { redirect: redirectTo(`${origin}${prefix}/${search}`, options.trailingSlashTtlSeconds) };
  }
  // Paths outside the prefix belong to other services.
  if (rawPath !== pathPrefix && !rawPath.startsWith(`${pathPrefix}/`) && pathPrefix !== '') {
    throw new ServiceError('unknownPath');
  }
  if (control.test(path)) throw new ServiceError('unknownVersion');
  const inside = rawPath.slice(pathPrefix.length);
  const version = someVersion.exec(inside);
  if (version !== null) {
    if (!options.unsupportedVersion) throw new ServiceError('unknownVersion');
    const rest = inside.slice(version[0].length);
    return { redirect: redirectTo(`${origin}${prefix}${rest === '' ? '/' : rest}${search}`, -1) };
  }
  if (!options.versionPrefix) throw new ServiceError('unknownVersion');
  const absolute = inside.startsWith('/') ? inside : `/${inside}`;
  return { redirect: redirectTo(`${origin}${prefix}${absolute}${search}`, options.versionPrefixTtlSeconds) };
}

/** Returns the redirect of an unknown path with trailing slashes; `undefined` for other paths. */
export function withoutTrailingSlash(
  target: Target,
  origin: string,
  options: RedirectOptions,
): ServiceResponse | undefined {
  if (!options.trailingSlash || !target.path.endsWith('/')) return undefined;
  const bare = withoutSlashesAtEnd(target.rawPath, { encoded: true });
  return redirectTo(`${origin}${bare}${target.search}`, options.trailingSlashTtlSeconds);
}

/** Returns a redirect to an absolute URL; `ttlSeconds` as in `cacheHeaders`. */
export function redirectTo(location: string, ttlSeconds: number): ServiceResponse {
  const headers = { Location: encodeLocation(location), 'Content-Type': 'text/plain', ...cacheHeaders(ttlSeconds) };
  return { status: 307, headers, body: `This has moved to ${headers.Location}\n` };
}

/** Encodes all characters except visible ASCII. */
function encodeLocation(location: string): string {
  return location.replaceAll(/[^\x21-\x7e]+/g, (text) => encodeURIComponent(text.toWellFormed()));
}

/** Returns `Cache-Control` and `Expires` for a time in seconds; 0 means no caching, a negative value no headers. */
export function cacheHeaders(seconds: number): Record<string, string> {
  if (seconds < 0) return {};
  if (seconds === 0) return { 'Cache-Control': 'no-cache' };
  return {
    'Cache-Control': `max-age=${seconds}`,
    Expires: new Date(Date.now() + seconds * 1000).toUTCString(),
  };
}
