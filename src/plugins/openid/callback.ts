// Validation of callback URLs, which receive a token after a login. The URL comes from a link that an attacker may have
// written. So only the service itself, loopback addresses, and URLs in a setting are accepted.
import { isLoopbackName } from '../../http/allowed-hosts.ts';

/** Maximum number of characters of a callback URL. */
const maxCallbackLength = 2048;

/** One entry of `openid_allowed_callbacks`. */
export type CallbackRule = (url: URL) => boolean;

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
  if (entry === '*') return () => true;
  const isWild = entry.includes(`://${wildcard}`);
  const pattern = entry.replace(`://${wildcard}`, isWild ? `://${placeholder}` : '');
  const url = URL.canParse(pattern) ? new URL(pattern) : undefined;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isWeb || /[?#@*]/.test(pattern)) {
    throw new Error(`openid_allowed_callbacks contains ${entry}. Use URLs such as https://admin.example.org.`);
  }
  const suffix = isWild ? `.${url.hostname.slice(placeholder.length)}` : undefined;
  return (callback) => {
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

/**
 * Returns the normalised URL if it may receive a token, or the reason why not. The URL always has a path, so that the
 * appended token cannot become part of the host.
 *
 * @param origin origin of the service itself
 */
export function readCallback(
  text: string,
  origin: string,
  rules: readonly CallbackRule[],
): { readonly address: string } | { readonly fault: string } {
  if (text.length > maxCallbackLength) return { fault: `expected at most ${maxCallbackLength} characters` };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return { fault: 'expected an http or https URL' };
  if (url.username !== '' || url.password !== '') return { fault: 'expected a URL without user and password' };
  const isAllowed = url.origin === origin || isLoopbackName(url.hostname) || rules.some((rule) => rule(url));
  // Percent-encoding lengthens some URLs, and they must fit into a cookie.
  if (url.href.length > maxCallbackLength) return { fault: `expected at most ${maxCallbackLength} characters` };
  return isAllowed ? { address: url.href } : { fault: 'the callback is not in openid_allowed_callbacks' };
}
