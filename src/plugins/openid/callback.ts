// Where a token may be sent after a login. The address comes from a link that anybody may have written, so only places
// that the operator knows are good: the service itself, the machine of the user, and those that a setting lists.
import { isLoopbackName } from '../../http/allowed-hosts.ts';

/** Characters that the address may have. */
export const maxCallbackLength = 2048;

/** One entry of `openid_allowed_callbacks`. */
export type CallbackRule = (url: URL) => boolean;

/**
 * Compiles `openid_allowed_callbacks`.
 *
 * @throws Error for an entry that is neither an address nor `*`
 */
export function compileCallbackRules(entries: readonly string[]): readonly CallbackRule[] {
  return entries.map(compileRule);
}

const wildcard = '*.';
/** A name that no host has, in place of the wildcard while the rest is read. */
const placeholder = 'wildcard.invalid.';

function compileRule(entry: string): CallbackRule {
  if (entry === '*') return () => true;
  const isWild = entry.includes(`://${wildcard}`);
  const address = entry.replace(`://${wildcard}`, isWild ? `://${placeholder}` : '');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isWeb || /[?#@*]/.test(address)) {
    throw new Error(`openid_allowed_callbacks names ${entry}; expected addresses such as https://admin.example.org.`);
  }
  const suffix = isWild ? `.${url.hostname.slice(placeholder.length)}` : undefined;
  return (callback) => {
    if (callback.protocol !== url.protocol || callback.port !== url.port) return false;
    const { hostname } = callback;
    const isHost = suffix === undefined ? hostname === url.hostname : hostname.endsWith(suffix);
    return isHost && isBelow(callback, url.pathname);
  };
}

/** Whether whatever is put behind the address stays below the path. */
function isBelow(callback: URL, path: string): boolean {
  const folder = path.endsWith('/') ? path : `${path}/`;
  if (folder === '/') return true;
  // Some servers take these for slashes, and so for a way out.
  if (/%2f|%5c/i.test(callback.pathname)) return false;
  // Without query and fragment the token lengthens the path, and `/app` would become `/apptoken`.
  const isClosed = /[?#]/.test(callback.href);
  return callback.pathname.startsWith(folder) || (isClosed && callback.pathname === path);
}

/**
 * The origin by which browsers reach the service, as far as it can be trusted: the one that `http_host` sets, else a
 * loopback one. Any other comes from the header `Host`, which is what the link says that a user has followed.
 *
 * @param origin of the request
 */
export function findOwnOrigin(origin: string, isHostConfigured: boolean): string | undefined {
  if (!URL.canParse(origin)) return undefined;
  return isHostConfigured || isLoopbackName(new URL(origin).hostname) ? new URL(origin).origin : undefined;
}

/**
 * The address as browsers understand it, when a token may be sent there; else a sentence that says why not. It always
 * has a path, so that what is put behind it cannot become part of the host.
 *
 * @param origin of the service itself
 */
export function readCallback(
  text: string,
  origin: string,
  rules: readonly CallbackRule[],
): { readonly address: string } | { readonly fault: string } {
  if (text.length > maxCallbackLength) return { fault: `expected at most ${maxCallbackLength} characters` };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return { fault: 'expected an http or https address' };
  if (url.username !== '' || url.password !== '') return { fault: 'expected an address without user and password' };
  const isAllowed = url.origin === origin || isLoopbackName(url.hostname) || rules.some((rule) => rule(url));
  // Percent-encoding makes some addresses longer, and they have to fit into a cookie.
  if (url.href.length > maxCallbackLength) return { fault: `expected at most ${maxCallbackLength} characters` };
  return isAllowed ? { address: url.href } : { fault: 'this address is not among those that tokens may be sent to' };
}
