// Cookies that the service gives to browsers: reading the header, and values that only the service can read and make.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ivBytes = 12;
const tagBytes = 16;

/** Where browsers send a cookie. */
export interface CookieScope {
  /** Public origin of the service. */
  readonly origin: string;
  /** Path of the endpoints that need the cookie. */
  readonly path: string;
}

/**
 * Returns the name that a cookie has in browsers. With TLS the prefix `__Host-` prevents other hosts of the same domain from
 * setting it.
 */
export function cookieName(name: string, scope: CookieScope): string {
  return isSecure(scope) ? `__Host-${name}` : name;
}

/** Returns the header that sets a cookie, out of reach of scripts, or with the age 0 removes it. */
export function formatCookie(name: string, value: string, maxAgeSeconds: number, scope: CookieScope): string {
  // The prefix of the name requires the path `/`, so the narrower path is for services without TLS.
  const path = isSecure(scope) ? '/' : scope.path;
  const cookie = `${cookieName(name, scope)}=${value}; Max-Age=${maxAgeSeconds}; Path=${path}; HttpOnly; SameSite=Lax`;
  return isSecure(scope) ? `${cookie}; Secure` : cookie;
}

function isSecure({ origin }: CookieScope): boolean {
  return origin.startsWith('https:');
}

/** Returns the cookies of a header `Cookie`, by name. One that is there twice is left out: one of them is from another host. */
export function parseCookies(header = ''): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  const repeated = new Set<string>();
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals <= 0) continue;
    const name = pair.slice(0, equals).trim();
    if (cookies.has(name)) repeated.add(name);
    cookies.set(name, pair.slice(equals + 1).trim());
  }
  for (const name of repeated) cookies.delete(name);
  return cookies;
}

/**
 * Encrypts and authenticates a text with AES-256-GCM.
 *
 * @param key 32 bytes
 * @param purpose authenticated with the text, which only `unseal` with the same purpose opens
 */
export function seal(text: string, key: Buffer, purpose: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes }).setAAD(Buffer.from(purpose));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Returns the text; `undefined` when it was not sealed with this key and purpose. */
export function unseal(sealed: string, key: Buffer, purpose: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  // Decoding ignores unknown characters and unused bits, so different texts could stand for the same bytes.
  if (bytes.toString('base64url') !== sealed) return undefined;
  if (bytes.length < ivBytes + tagBytes) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    // A value that does not authenticate was not made here, or for another purpose.
    return undefined;
  }
}
