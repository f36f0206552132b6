// Encrypted cookies that store pending logins in the browser. The server stores nothing, and no other browser can
// finish the login. Each login has its own cookie, so that several tabs can log in at the same time.
import { createHash } from 'node:crypto';
import { isJsonObject, getKey, parseJson, type JsonValue } from '../../base/json.ts';
import { cookieName, formatCookie, parseCookies, seal, unseal, type CookieScope } from '../../http/cookies.ts';

export interface PendingLogin {
  readonly callback: string;
  readonly redirectUri: string;
  /** PKCE code verifier (RFC 7636). */
  readonly verifier: string;
  /** Expected nonce of the `id_token`; absent if no `id_token` was requested. */
  readonly nonce: string | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/**
 * Limits of stored cookies. Browsers accept 4,096 bytes per cookie, and servers little more for all headers together.
 */
const maxCookies = 4;
const maxCookieBytes = 6000;

const cookiePrefix = 'coffer-login-';
const valueForm = /^([\da-z]{1,12})\.([\w-]+)$/;

/** Returns the headers that set the cookie of a login and remove the oldest ones if the browser has too many. */
export function setLoginCookie(
  login: PendingLogin,
  { key, state, scope, sent, now }: LoginCookie & { readonly now: number },
): readonly string[] {
  const { expiresAt } = login;
  const value = `${Math.ceil(expiresAt / 1000).toString(36)}.${seal(JSON.stringify(login), key, state)}`;
  const maxAge = Math.ceil((expiresAt - now) / 1000);
  return [...evictCookies(sent, scope, value.length), formatCookie(nameOf(state), value, maxAge, scope)];
}

export interface LoginCookie {
  /** 32 bytes, different for each provider. */
  readonly key: Buffer;
  readonly state: string;
  readonly scope: CookieScope;
  /** The header `Cookie` of the request. */
  readonly sent: string | undefined;
}

/** Returns the login of the state if this browser started it and it has not expired. */
export function readLoginCookie({
  key,
  state,
  scope,
  sent,
  now,
}: LoginCookie & { readonly now: number }): PendingLogin | undefined {
  const value = parseCookies(sent).get(cookieName(nameOf(state), scope));
  const sealed = value === undefined ? undefined : valueForm.exec(value)?.[2];
  const text = sealed === undefined ? undefined : unseal(sealed, key, state);
  const login = text === undefined ? undefined : readLogin(parseJson(text));
  return login !== undefined && login.expiresAt > now ? login : undefined;
}

/** Returns the header that removes the cookie of a finished login. */
export function clearLoginCookie(state: string, scope: CookieScope): string {
  return formatCookie(nameOf(state), '', 0, scope);
}

function nameOf(state: string): string {
  return `${cookiePrefix}${createHash('sha256').update(state).digest('hex').slice(0, 16)}`;
}

/** Returns headers that remove cookies beyond the limits, earliest expiry first. */
function evictCookies(sent: string | undefined, scope: CookieScope, newBytes: number): readonly string[] {
  const prefix = cookieName(cookiePrefix, scope);
  const own = [...parseCookies(sent)]
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, value]) => ({ name, size: value.length, expiry: Number.parseInt(value, 36) || 0 }))
    .toSorted((a, b) => b.expiry - a.expiry);
  let bytes = newBytes;
  const surplus = own.filter(({ size }, index) => {
    bytes += size;
    return index >= maxCookies - 1 || bytes > maxCookieBytes;
  });
  return surplus.map(({ name }) => formatCookie(`${cookiePrefix}${name.slice(prefix.length)}`, '', 0, scope));
}

function readLogin(value: JsonValue): PendingLogin | undefined {
  if (!isJsonObject(value)) return undefined;
  const [callback, redirectUri, verifier, nonce, expiresAt] = [
    getKey(value, 'callback'),
    getKey(value, 'redirectUri'),
    getKey(value, 'verifier'),
    getKey(value, 'nonce'),
    getKey(value, 'expiresAt'),
  ];
  if (typeof callback !== 'string' || typeof redirectUri !== 'string' || typeof verifier !== 'string') return undefined;
  if (typeof expiresAt !== 'number') return undefined;
  return { callback, redirectUri, verifier, nonce: typeof nonce === 'string' ? nonce : undefined, expiresAt };
}
