// A login under way is kept by the browser that began it, in an encrypted cookie: the server stores nothing for it, and no
// other browser can end it. Each login has a cookie of its own, so that several tabs can log in at the same time.
import { createHash } from 'node:crypto';
import { isJsonObject, getKey, parseJson, type JsonValue } from '../../base/json.ts';
import { parseCookies, seal, unseal } from '../../http/cookies.ts';

export interface PendingLogin {
  readonly callback: string;
  readonly redirectUri: string;
  /** Proof key (RFC 7636). */
  readonly verifier: string;
  /** What the `id_token` has to repeat; absent when no `id_token` was asked for. */
  readonly nonce: string | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/** Where the cookies of a provider are valid. */
export interface CookiePlace {
  /** Origin by which browsers reach the service. */
  readonly origin: string;
  /** Path of the endpoints of the provider. */
  readonly path: string;
}

/** Browsers accept 4,096 bytes per cookie, and servers little more for all headers together. */
const keptCookies = 4;
const keptBytes = 6000;

const nameOfCookies = 'coffer-login-';
const valueForm = /^([\da-z]{1,12})\.([\w-]+)$/;

/** The cookie of a login, and the removal of the oldest ones when the browser has many. */
export function setLoginCookie(
  login: PendingLogin,
  { key, state, place, sent, now }: LoginCookie & { readonly now: number },
): readonly string[] {
  const { expiresAt } = login;
  const value = `${Math.ceil(expiresAt / 1000).toString(36)}.${seal(JSON.stringify(login), key, state)}`;
  const name = nameOf(state, place);
  const maxAge = Math.ceil((expiresAt - now) / 1000);
  return [...findSurplus(sent, place, value.length), formatCookie(name, value, maxAge, place)];
}

export interface LoginCookie {
  /** 32 bytes; differs between providers. */
  readonly key: Buffer;
  readonly state: string;
  readonly place: CookiePlace;
  /** The header `Cookie` of the request. */
  readonly sent: string | undefined;
}

/** The login that the state belongs to, when this browser began it and it has not expired. */
export function readLoginCookie({
  key,
  state,
  place,
  sent,
  now,
}: LoginCookie & { readonly now: number }): PendingLogin | undefined {
  const value = parseCookies(sent).get(nameOf(state, place));
  const sealed = value === undefined ? undefined : valueForm.exec(value)?.[2];
  const text = sealed === undefined ? undefined : unseal(sealed, key, state);
  const login = text === undefined ? undefined : readLogin(parseJson(text));
  return login !== undefined && login.expiresAt > now ? login : undefined;
}

/** Removes the cookie of a login that has ended. */
export function clearLoginCookie(state: string, place: CookiePlace): string {
  return formatCookie(nameOf(state, place), '', 0, place);
}

/**
 * With TLS the prefix `__Host-` keeps neighbours under the same domain from planting a login of theirs. Browsers accept it
 * with the path `/` alone, so the narrower path is for services without TLS, on loopback addresses.
 */
function nameOf(state: string, place: CookiePlace): string {
  const digest = createHash('sha256').update(state).digest('hex').slice(0, 16);
  return `${prefixOf(place)}${digest}`;
}

function prefixOf(place: CookiePlace): string {
  return isSecure(place) ? `__Host-${nameOfCookies}` : nameOfCookies;
}

function formatCookie(name: string, value: string, maxAgeSeconds: number, place: CookiePlace): string {
  const path = isSecure(place) ? '/' : place.path;
  const cookie = `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=${path}; HttpOnly; SameSite=Lax`;
  return isSecure(place) ? `${cookie}; Secure` : cookie;
}

function isSecure({ origin }: CookiePlace): boolean {
  return origin.startsWith('https:');
}

/** Removals of those cookies for which there is no room beside a new one; those that expire first go first. */
function findSurplus(sent: string | undefined, place: CookiePlace, newBytes: number): readonly string[] {
  const prefix = prefixOf(place);
  const own = [...parseCookies(sent)]
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, value]) => ({ name, size: value.length, expiry: Number.parseInt(value, 36) || 0 }))
    .toSorted((a, b) => b.expiry - a.expiry);
  let bytes = newBytes;
  const surplus = own.filter(({ size }, index) => {
    bytes += size;
    return index >= keptCookies - 1 || bytes > keptBytes;
  });
  return surplus.map(({ name }) => formatCookie(name, '', 0, place));
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
