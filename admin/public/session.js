// The session of the user, stored only in sessionStorage until the tab is closed.

/** @typedef {{ readonly authorization: string, readonly label: string }} Session what to send, and how the sign-in is called */

const sessionKey = 'coffer.session';
const loginKey = 'coffer.login';

/** @returns {Session | undefined} */
export function readSession() {
  const value = readObject(sessionKey);
  const { authorization, label } = value;
  return typeof authorization === 'string' && typeof label === 'string' ? { authorization, label } : undefined;
}

/** @param {Session | undefined} session `undefined` signs out */
export function writeSession(session) {
  if (session === undefined) sessionStorage.removeItem(sessionKey);
  else sessionStorage.setItem(sessionKey, JSON.stringify(session));
}

/**
 * Returns the session for a name and a password, which may contain any characters.
 *
 * @param {string} name
 * @param {string} password
 * @returns {Session}
 */
export function basicSession(name, password) {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}`, label: name };
}

/** Stores that a login at a provider has begun. @param {string} name @param {string} headerType */
export function beginLogin(name, headerType) {
  sessionStorage.setItem(loginKey, JSON.stringify({ name, headerType }));
}

/**
 * Returns the session of a finished login at a provider, which leads back to `#tokens=…`. Tokens of logins that did not
 * begin in this tab are ignored. Otherwise a link could sign a user in as another user.
 *
 * @param {string} hash
 * @returns {Session | undefined}
 */
export function finishLogin(hash) {
  if (!hash.startsWith('#tokens=')) return undefined;
  history.replaceState(null, '', '#/');
  const { name, headerType } = readObject(loginKey);
  sessionStorage.removeItem(loginKey);
  if (typeof name !== 'string' || typeof headerType !== 'string') return undefined;
  try {
    const answer = /** @type {{ access_token?: unknown } | null} */ (
      JSON.parse(atob(decodeURIComponent(hash.slice('#tokens='.length))))
    );
    const token = answer?.access_token;
    return typeof token === 'string' ? { authorization: `${headerType} ${token}`, label: name } : undefined;
  } catch {
    // The address is truncated, or the provider failed: the sign-in page is shown again.
    return undefined;
  }
}

/** @param {string} key @returns {Record<string, unknown>} */
function readObject(key) {
  try {
    const value = /** @type {unknown} */ (JSON.parse(sessionStorage.getItem(key) ?? '{}'));
    return typeof value === 'object' && value !== null ? /** @type {Record<string, unknown>} */ (value) : {};
  } catch {
    // Other code wrote an invalid value, which counts as no session.
    return {};
  }
}
