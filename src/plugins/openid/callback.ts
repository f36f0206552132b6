// Validation of callback URLs, which receive a token after a login. The URL comes from a link that an attacker may have
// written. So only the console of the service, loopback addresses, and URLs in a setting are accepted.
import { isLoopbackName } from '../../http/allowed-hosts.ts';

/** Maximum number of characters of a callback URL. */
const maxCallbackLength = 2048;

/**
 * One entry of `openid_allowed_callbacks`.
 *
 * @param isOwn whether the URL is at the service itself, whose log and redirects could disclose the token. Only entries with a
 *   path allow such a URL.
 */
export type CallbackRule = (url: URL, isOwn: boolean) => boolean;

/**
 * Compiles `openid_allowed_callbacks`.
 *
 * @throws Error for an entry that is neither a URL nor `*`
 */
export function compileCallbackRules(entries: readonly string[]): readonly CallbackRule[] {
  return entries.map(compileRule);
}

const wildcard = '*.';
/** An invalid host name that replaces the wildcard while the URL is parsed. */
const placeholder = 'wildcard.invalid.';

function compileRule(entry: string): CallbackRule {
  if (entry === '*') return (_callback, isOwn) => !isOwn;
  const isWild = entry.includes(`://${wildcard}`);
  const pattern = entry.replace(`://${wildcard}`, isWild ? `://${placeholder}` : '');
  const url = URL.canParse(pattern) ? new URL(pattern) : undefined;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isWeb || /[?#@*]/.test(pattern)) {
    throw new Error(`openid_allowed_callbacks contains ${entry}. Use URLs such as https://admin.example.org.`);
  }
  const suffix = isWild ? `.${url.hostname.slice(placeholder.length)}` : undefined;
  const hasPath = !isWild && url.pathname !== '/';
  return (callback, isOwn) => {
    if (isOwn && !hasPath) return false;
    if (callback.protocol !== url.protocol || callback.port !== url.port) return false;
    const { hostname } = callback;
    const isHost = suffix === undefined ? hostname === url.hostname : hostname.endsWith(suffix);
    return isHost && isBelow(callback, url.pathname);
  };
}

/** Returns whether the URL stays below the path after the token is appended. */
function isBelow(callback: URL, path: string): boolean {
  const folder = path.endsWith('/') ? path : `${path}/`;
  if (folder === '/') return true;
  // Some servers decode these to slashes, which would allow path traversal.
  if (/%2f|%5c/i.test(callback.pathname)) return false;
  // Without query and fragment, the token is appended to the path, and `/app` becomes `/apptoken`.
  const isClosed = /[?#]/.test(callback.href);
  return callback.pathname.startsWith(folder) || (isClosed && callback.pathname === path);
}

/**
 * Returns the public origin of the service if it can be trusted: the one of `http_host`, or a loopback origin. Any
 * other comes from the header `Host`, which the link of an attacker can choose.
 *
 * @param origin of the request
 */
export function findOwnOrigin(origin: string, isHostConfigured: boolean): string | undefined {
  if (!URL.canParse(origin)) return undefined;
  return isHostConfigured || isLoopbackName(new URL(origin).hostname) ? new URL(origin).origin : undefined;
}

/** Where the service is. */
export interface OwnPlace {
  /** Origin of the service, as `findOwnOrigin` returns it. */
  readonly origin: string;
  /** `/v1` */
  readonly versionPrefix: string;
}

/**
 * Returns the normalised URL if it may receive a token, or the reason why not. The URL always has a path, so that the
 * appended token cannot become part of the host.
 */
export function readCallback(
  text: string,
  own: OwnPlace,
  rules: readonly CallbackRule[],
): { readonly address: string } | { readonly fault: string } {
  if (text.length > maxCallbackLength) return { fault: `expected at most ${maxCallbackLength} characters` };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return { fault: 'expected an http or https URL' };
  if (url.username !== '' || url.password !== '') return { fault: 'expected a URL without user and password' };
  // Percent-encoding lengthens some URLs, and they must fit into a cookie.
  if (url.href.length > maxCallbackLength) return { fault: `expected at most ${maxCallbackLength} characters` };
  const isOwn = isAtService(url, own.origin);
  if (isOwn ? isConsole(url, own) : isLoopbackName(url.hostname)) return { address: url.href };
  if (rules.some((rule) => rule(url, isOwn))) return { address: url.href };
  const console = `${own.origin}${own.versionPrefix}/admin/#tokens=`;
  return {
    fault: isOwn
      ? `expected ${console}, or a URL below an entry with a path in openid_allowed_callbacks`
      : 'the callback is not in openid_allowed_callbacks',
  };
}

/** Whether requests to the URL reach the service. A service at one loopback name answers at all of them. */
function isAtService(url: URL, origin: string): boolean {
  const own = new URL(origin);
  if (url.origin === own.origin) return true;
  return url.port === own.port && [url, own].every(({ hostname }) => isLoopbackName(hostname));
}

/**
 * Whether the console receives the token, in the fragment, which no request contains. A redirect passes the fragment on: other
 * paths of the service, such as logins, could lead to another host.
 */
function isConsole(url: URL, { versionPrefix }: OwnPlace): boolean {
  return url.href.includes('#') && isBelow(url, `${versionPrefix}/admin`);
}
