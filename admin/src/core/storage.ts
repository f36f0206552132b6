// The only module that stores data in the browser. The session stays in the tab; choices of columns and drafts
// stay in the browser until the user signs out.

/** What to send with requests, and the name of the sign-in. */
export interface Session {
  readonly authorization: string;
  readonly label: string;
}

/** Unsaved text of a form, and the version that it began with. */
export interface Draft {
  readonly text: string;
  readonly etag: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

const prefix = 'coffer.';
const sessionKey = `${prefix}session`;
const loginKey = `${prefix}login`;
/** Maximum length of a draft, in characters. Longer texts are guarded by the question alone. */
const draftLimit = 1_000_000;
/** Maximum number of drafts; the oldest are dropped. */
const draftsLimit = 50;

export function readSession(): Session | undefined {
  return asSession(readObject(sessionStorage, sessionKey));
}

/** Stores the session for this tab; `undefined` ends it. */
export function writeSession(session: Session | undefined): void {
  if (session === undefined) sessionStorage.removeItem(sessionKey);
  else sessionStorage.setItem(sessionKey, JSON.stringify(session));
}

/** Deletes everything that the console has stored: the session, drafts and choices. */
export function forgetUser(): void {
  sessionStorage.removeItem(sessionKey);
  sessionStorage.removeItem(loginKey);
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
}

/** Returns the session for a name and a password, which may contain any characters. */
export function basicSession(name: string, password: string): Session {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { authorization: `Basic ${btoa(String.fromCodePoint(...bytes))}`, label: name };
}

/** Stores that a login at a provider has begun. */
export function beginLogin(name: string, headerType: string): void {
  sessionStorage.setItem(loginKey, JSON.stringify({ name, headerType }));
}

/**
 * Returns the session of a finished login at a provider, which leads back to `#tokens=…`. Tokens of logins that did not
 * begin in this tab are ignored. Otherwise a link could sign a user in as another user.
 */
export function finishLogin(hash: string): Session | undefined {
  if (!hash.startsWith('#tokens=')) return undefined;
  history.replaceState(null, '', '#/');
  const { name, headerType } = readObject(sessionStorage, loginKey);
  sessionStorage.removeItem(loginKey);
  if (typeof name !== 'string' || typeof headerType !== 'string') return undefined;
  try {
    const answer = JSON.parse(atob(decodeURIComponent(hash.slice('#tokens='.length)))) as {
      access_token?: unknown;
    } | null;
    const token = answer?.access_token;
    return typeof token === 'string' ? { authorization: `${headerType} ${token}`, label: name } : undefined;
  } catch {
    // The address is truncated, or the provider failed: the sign-in page is shown again.
    return undefined;
  }
}

/** Returns a choice of the user, such as the columns of a table; `undefined` without a valid one. */
export function readChoice<Value>(
  name: string,
  check: (value: Record<string, unknown>) => Value | undefined,
): Value | undefined {
  return check(readObject(localStorage, `${prefix}choice.${name}`));
}

export function writeChoice(name: string, value: object): void {
  write(`${prefix}choice.${name}`, JSON.stringify(value));
}

export function readDraft(name: string): Draft | undefined {
  const { text, etag, time } = readObject(localStorage, `${prefix}draft.${name}`);
  const isDraft = typeof text === 'string' && typeof etag === 'string' && typeof time === 'number';
  return isDraft ? { text, etag, time } : undefined;
}

/** Stores a draft; `undefined` deletes it. */
export function writeDraft(name: string, draft: Omit<Draft, 'time'> | undefined): void {
  const key = `${prefix}draft.${name}`;
  if (draft === undefined || draft.text.length > draftLimit) {
    localStorage.removeItem(key);
    return;
  }
  write(key, JSON.stringify({ ...draft, time: Date.now() }));
  const all = Object.keys(localStorage).filter((each) => each.startsWith(`${prefix}draft.`));
  if (all.length <= draftsLimit) return;
  const timeOf = (each: string): number => Number(readObject(localStorage, each)['time'] ?? 0);
  const oldest = all.toSorted((a, b) => timeOf(a) - timeOf(b)).slice(0, all.length - draftsLimit);
  for (const each of oldest) localStorage.removeItem(each);
}

function asSession({ authorization, label }: Record<string, unknown>): Session | undefined {
  return typeof authorization === 'string' && typeof label === 'string' ? { authorization, label } : undefined;
}

function write(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // The browser's storage is full or switched off. The console works without it.
  }
}

function readObject(storage: Storage, key: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(storage.getItem(key) ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Other code wrote an invalid value, which counts as none.
    return {};
  }
}
