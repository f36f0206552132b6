// Credentials: what is sent as `Authorization`, and the login at an OpenID provider.

/**
 * Returns the value of `Authorization`.
 *
 * @param refused the value that the service has just refused with 401. The request is sent again if another one is returned.
 */
export type Auth = (refused?: string) => string | undefined | Promise<string | undefined>;

/** Returns credentials of Basic authentication. */
export function basic(user: string, password: string): Auth {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const value = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  return () => value;
}

/**
 * Returns credentials for a token.
 *
 * @param token the token, or a function that returns it. The function is called before each request; `isRefused` says that
 *   the service has refused the token that it returned last.
 */
export function bearer(token: string | ((isRefused: boolean) => string | Promise<string>)): Auth {
  if (typeof token === 'string') return () => `Bearer ${token}`;
  let renewal: Promise<string> | undefined;
  return async (refused) => {
    const current = `Bearer ${await (renewal ?? token(false))}`;
    if (current !== refused) return current;
    // Requests that were refused together share one renewal.
    renewal ??= Promise.resolve(token(true)).finally(() => {
      renewal = undefined;
    });
    return `Bearer ${await renewal}`;
  };
}

/** What a provider returns after a login. */
export interface OpenIdTokens {
  readonly access_token?: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
  readonly expires_in?: number;
  readonly error?: string;
  readonly [name: string]: unknown;
}

const tokensMark = '#tokens=';

/** How a login begins. */
export interface OpenIdLogin {
  /** Name of the authentication policy in lower case, from the capability `openid`. */
  readonly provider: string;
  /** Page to which the browser returns; `openid_allowed_callbacks` must list it. */
  readonly callback: string;
  /** Default: `openid email`. */
  readonly scope?: string;
  /** `none` asks the provider to show no page. */
  readonly prompt?: string;
}

/** Returns the address to which a page sends the browser for a login: `location.href = openIdLogin(…)`. */
export function openIdLogin(
  server: string,
  { provider, callback, scope = 'openid email', prompt }: OpenIdLogin,
): string {
  const query = new URLSearchParams({ callback: `${callback.replace(/#.*/s, '')}${tokensMark}`, scope });
  if (prompt !== undefined) query.set('prompt', prompt);
  return `${server.replace(/\/+$/, '')}/openid/${encodeURIComponent(provider)}/login?${query}`;
}

/**
 * Returns the tokens from the address of the page that a login has returned to; `undefined` if it has none.
 *
 * @param address `location.href`. The page should then remove the tokens from it, with `history.replaceState`.
 */
export function openIdTokens(address: string): OpenIdTokens | undefined {
  const [, encoded] = address.split(tokensMark);
  if (encoded === undefined) return undefined;
  try {
    const text = atob(decodeURIComponent(encoded));
    return JSON.parse(
      new TextDecoder().decode(Uint8Array.from(text, (character) => character.charCodeAt(0))),
    ) as OpenIdTokens;
  } catch {
    return undefined;
  }
}
