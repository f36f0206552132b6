// The Basic policy: any credentials are valid, and the user id is derived from them with the secret of the service. A different
// password is a different user; no accounts are stored.
import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AuthenticationPolicy, PolicyContext } from '../../contracts/authentication.ts';
import { passwordParameters, readParameters } from './parameters.ts';

export interface BasicPolicyContext extends PolicyContext {
  readonly isPolicyName: (user: string) => boolean;
}

/** Maximum number of cached users. */
const maxKnown = 1000;
/** Maximum length of a cached header. The cache keeps headers that clients choose. */
const maxCachedChars = 1024;

/**
 * Returns the policy. Its user ids equal those of Kinto: `basicauth:` + hex(HMAC-SHA256(secret, "user:password")).
 *
 * @param context.isPolicyName returns whether user ids may begin with this name and a colon. Such a name is no user: ids of
 *   personal buckets are HMACs of user ids with the same secret, and the user id would show that of another user.
 */
export function basicPolicy(context: BasicPolicyContext): AuthenticationPolicy {
  const { name, secret, isPolicyName } = context;
  const { realm } = readParameters(context, passwordParameters);
  // Clients send their credentials with each request.
  const known = new LRUCache<string, string>({ max: maxKnown });
  return {
    name,
    challenge: `Basic realm="${realm}"`,
    acceptsAnyCredentials: true,
    authenticate({ headers: { authorization } }) {
      if (authorization === undefined) return undefined;
      let userId = known.get(authorization);
      if (userId === undefined) {
        const credentials = parseBasic(authorization);
        if (credentials === undefined || isPolicyName(credentials.user)) return undefined;
        userId = basicUserId(secret, credentials);
        if (authorization.length <= maxCachedChars) known.set(authorization, userId);
      }
      return userId;
    },
  };
}

/** Returns the user id of credentials, without prefix. */
export function basicUserId(
  secret: string,
  { user, password }: { readonly user: string; readonly password: string },
): string {
  return createHmac('sha256', secret).update(`${user}:${password}`).digest('hex');
}

const scheme = /^basic +([a-z0-9+/_-]+={0,2}) *$/i;

/**
 * Returns user and password of a Basic `Authorization` header; `undefined` when it is malformed or the user name is empty.
 * Text that is not UTF-8 is read as Latin-1, so both encodings of the credentials are the same user.
 */
export function parseBasic(
  header: string | undefined,
): { readonly user: string; readonly password: string } | undefined {
  const encoded = header === undefined ? null : scheme.exec(header);
  if (encoded === null) return undefined;
  const bytes = Buffer.from(encoded[1]!, 'base64');
  const text = decodeText(bytes);
  const colon = text.indexOf(':');
  return colon <= 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

function decodeText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\uFFFD') && !bytes.equals(Buffer.from(text, 'utf8')) ? bytes.toString('latin1') : text;
}
