// The user of this browser: credentials, kept until the user signs out.
import { basic, Coffer, CofferError } from '@coffer/client';

/** The service, on the origin of the page. */
const server = '/v1';
const storageKey = 'todo:session';

interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** A user with a client that has the credentials. */
export interface Session {
  readonly name: string;
  readonly client: Coffer;
}

/** Name of a user in permissions and groups. */
export const principalOf = (name: string): string => `account:${name}`;

/** Name of the user of a principal. */
export const nameOf = (principal: string): string => principal.replace(/^account:/, '');

/** Creates an account. @throws CofferError if the name is taken or not allowed */
export async function signUp(credentials: Credentials): Promise<Session> {
  const { name, password } = credentials;
  const path = `/accounts/${encodeURIComponent(name)}`;
  await new Coffer(server).request('PUT', path, { body: { data: { password } }, headers: { 'If-None-Match': '*' } });
  return signIn(credentials);
}

/** Signs in. @throws Error if the service does not accept the credentials */
export async function signIn(credentials: Credentials): Promise<Session> {
  const session = sessionOf(credentials);
  const { user } = await session.client.info();
  if (user?.id !== principalOf(credentials.name)) throw new Error('The name or the password is wrong.');
  // A reload without a network needs them. With OpenID Connect, this would be a token that expires.
  localStorage.setItem(storageKey, JSON.stringify(credentials));
  return session;
}

/** Returns the session of an earlier visit. */
export function findSession(): Session | undefined {
  const stored = localStorage.getItem(storageKey);
  return stored === null ? undefined : sessionOf(JSON.parse(stored) as Credentials);
}

export function forgetSession(): void {
  localStorage.removeItem(storageKey);
}

/** Says what went wrong, for people. */
export function explain(error: unknown): string {
  if (error instanceof CofferError && error.kind === 'network') return 'No connection. Try again later.';
  return error instanceof Error ? error.message : String(error);
}

function sessionOf({ name, password }: Credentials): Session {
  return { name, client: new Coffer(server, { auth: basic(name, password) }) };
}
