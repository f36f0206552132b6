// The Bearer policy: OAuth 2.0 tokens, verified by the user info endpoint of a remote server or by its token introspection
// (RFC 7662).
import { getKey, type JsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy, PolicyContext } from '../../contracts/authentication.ts';
import { setting, type SettingsTable, type ValuesOf } from '../../settings/definition.ts';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { list, optional, text, url as webAddress } from '../../settings/readers.ts';
import { findAddressFault, parameterName, readParameters, remoteParameters } from './parameters.ts';
import { RemoteServer, type RemoteAnswer } from './remote-server.ts';
import { findTime, findUserId, isFor, parseToken } from './token.ts';
import { VerifiedTokens, type Verified } from './verified-tokens.ts';

/** Parameters of the policy. */
export const bearerParameters = {
  userinfo_url: setting(
    optional(webAddress()),
    'URL of the user info endpoint: a GET with a valid token returns a JSON object about its user, with an invalid one 401.',
    { default: undefined },
  ),
  introspection_url: setting(
    optional(webAddress()),
    'URL of token introspection (RFC 7662), instead of `userinfo_url`. Requires `client_id` and `client_secret`.',
    { default: undefined },
  ),
  client_id: setting(text(), 'Client id of this service at the introspection server.', { default: '' }),
  client_secret: setting(text(), 'Client secret of this service at the introspection server.', {
    default: '',
    isSecret: true,
  }),
  required_scope: setting(list('scopes'), 'Scopes that a token must have (all of them).', { default: [] }),
  audience: setting(text(), 'Required audience in `aud` of the response. Empty accepts any audience.', { default: '' }),
  ...remoteParameters,
} satisfies SettingsTable;

type Parameters = ValuesOf<typeof bearerParameters>;

/**
 * Returns the policy.
 *
 * @throws SettingsError with all problems of its parameters
 */
export function bearerPolicy(context: PolicyContext): AuthenticationPolicy {
  const parameters = readParameters(context, bearerParameters);
  requireOneAddress(context, parameters);
  const { header_type: headerType, realm, userid_field: field, required_scope: scopes, audience } = parameters;
  const server = new RemoteServer(context.name, parameters);
  const { userinfo_url: userinfoUrl, introspection_url: introspectionUrl = '' } = parameters;
  const ask = (given: GivenToken): Promise<JsonObject | undefined> =>
    userinfoUrl === undefined
      ? introspect(server, introspectionUrl, parameters, given)
      : fetchUserInfo(server, userinfoUrl, given);
  const address = userinfoUrl ?? introspectionUrl;
  const demands = [context.name, address, field, audience, ...scopes];
  const tokens = new VerifiedTokens(context, parameters.verification_ttl_seconds, demands);

  async function verify(given: GivenToken): Promise<Verified | undefined> {
    const answer = await ask(given);
    if (answer === undefined || !hasScopes(answer, scopes)) return undefined;
    if (audience !== '' && !isFor(answer, audience)) return undefined;
    const hasBegun = (findTime(answer, 'nbf') ?? 0) <= context.clock.now();
    if (!hasBegun) return undefined;
    const id = findUserId(answer, field);
    if (id === undefined) {
      context.logger.warn(`${address} accepted a token, but its response has no usable ${field}`);
      return undefined;
    }
    return { id, until: findTime(answer, 'exp') };
  }

  return {
    name: context.name,
    challenge: `${headerType} realm="${realm}"`,
    async authenticate({ headers, address: client }) {
      const token = parseToken(headers['authorization'], headerType);
      if (token === undefined) return undefined;
      return (await tokens.find(token, () => verify({ token, address: client })))?.id;
    },
  };
}

/** A token, and the address of the client that sent it, where it is known. */
export interface GivenToken {
  readonly token: string;
  readonly address: string | undefined;
}

/** Statuses of servers for invalid tokens. */
const refusals: readonly number[] = [400, 401, 403];

/**
 * Returns the user info of a token; `undefined` when the token is invalid.
 *
 * @throws BackendUnavailable when the server returns neither
 */
export async function fetchUserInfo(
  server: RemoteServer,
  url: string,
  { token, address }: GivenToken,
): Promise<JsonObject | undefined> {
  const answer = await server.call(url, { headers: { Authorization: `Bearer ${token}` }, address });
  if (refusals.includes(answer.status)) return undefined;
  return readAnswer(server, url, answer);
}

async function introspect(
  server: RemoteServer,
  url: string,
  { client_id: id, client_secret: secret }: Parameters,
  { token, address }: GivenToken,
): Promise<JsonObject | undefined> {
  const answer = await server.call(url, {
    address,
    headers: { Authorization: basicCredentials(id, secret) },
    form: { token, token_type_hint: 'access_token' },
  });
  const value = readAnswer(server, url, answer);
  return getKey(value, 'active') === true ? value : undefined;
}

function readAnswer(server: RemoteServer, url: string, answer: RemoteAnswer): JsonObject {
  if (answer.status !== 200) throw server.unavailable(url, `it responded ${answer.status}`);
  return server.readObject(url, answer);
}

/** Returns the credentials of a client, encoded twice as RFC 6749, section 2.3.1 requires. */
export function basicCredentials(id: string, secret: string): string {
  const encode = (value: string): string => new URLSearchParams([['', value]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
}

/** Whether `scope`, a text with blanks or a list, has all scopes. */
function hasScopes(answer: JsonObject, required: readonly string[]): boolean {
  const value = getKey(answer, 'scope');
  const held = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  return required.every((scope) => held.includes(scope));
}

function requireOneAddress(context: PolicyContext, parameters: Parameters): void {
  const { userinfo_url: userinfoUrl, introspection_url: introspectionUrl } = parameters;
  const problems: Problem[] = [];
  const complain = (key: string, message: string): void => {
    problems.push({ name: parameterName(context, key), message });
  };
  if ((userinfoUrl === undefined) === (introspectionUrl === undefined)) {
    complain('userinfo_url', 'set either this or introspection_url');
  }
  for (const [key, address] of [
    ['userinfo_url', userinfoUrl],
    ['introspection_url', introspectionUrl],
  ] as const) {
    const fault = address === undefined ? undefined : findAddressFault(address, parameters.allow_http);
    if (fault !== undefined) complain(key, fault);
  }
  if (introspectionUrl !== undefined) {
    if (parameters.client_id === '') complain('client_id', 'must be set with introspection_url');
    if (parameters.client_secret === '') complain('client_secret', 'must be set with introspection_url');
  }
  if (problems.length > 0) throw new SettingsError(problems);
}
