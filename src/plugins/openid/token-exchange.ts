// `GET /openid/{provider}/token`: the provider redirects the browser here with a code. The service exchanges it for a
// token and redirects the browser to the callback.
import { createHash } from 'node:crypto';
import { decodeJwt, errors } from 'jose';
import { getKey, type JsonObject } from '../../base/json.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import type { SecurityState } from '../../contracts/security-state.ts';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import { requesterOf } from '../../http/address-group.ts';
import { basicCredentials } from '../../http/authentication/bearer.ts';
import type { RemoteAnswer, RemoteCall } from '../../http/authentication/remote-server.ts';
import { clearLoginCookie, readLoginCookie, type PendingLogin } from './login-cookie.ts';
import { cookieScope, secretRedirect, type LoginOptions } from './login.ts';
import type { Provider } from './provider.ts';
import { inQuery, readOnce, refuse, requireOnce } from './query.ts';

/** Hexadecimal form of `state_length` bytes. */
const stateForm = /^[\da-f]{1,512}$/;

/**
 * Finishes a login in the browser that started it. A login of another browser is refused, because a link could
 * otherwise log its reader in as another user.
 */
export async function handleToken(
  options: LoginOptions,
  context: Context,
  provider: Provider,
): Promise<ServiceResponse> {
  const issues: Issue[] = [];
  const state = requireOnce(context, 'state', issues);
  const refusal = readOnce(context, 'error', issues);
  const code = refusal === undefined ? requireOnce(context, 'code', issues) : '';
  if (issues.length > 0) throw invalidParameters(issues);
  const scope = cookieScope(options, context, provider);
  const now = options.clock.now();
  const sent = context.request.headers['cookie'];
  const login = stateForm.test(state)
    ? readLoginCookie({ key: provider.loginKey, state, scope, sent, now })
    : undefined;
  if (login === undefined || !(await consumeState(options.securityState, { state, login, context, now }))) {
    const description = 'the login was not started in this browser, was already used, or has expired';
    throw refuse({ location: 'body', name: 'state', description, errno: invalidAuthToken });
  }
  if (refusal !== undefined) throw refuse(inQuery('error', `the provider returned ${quote(refusal)}`));
  const answer = await exchange(provider, { code, address: context.request.clientAddress }, login);
  const location = login.callback + encodeURIComponent(Buffer.from(answer, 'utf8').toString('base64'));
  return secretRedirect(location, [clearLoginCookie(state, scope)]);
}

interface StateUse {
  readonly state: string;
  readonly login: PendingLogin;
  readonly context: Context;
  readonly now: number;
}

/** Returns whether this is the first request with the state. */
async function consumeState(securityState: SecurityState, { state, login, context, now }: StateUse): Promise<boolean> {
  const key = createHash('sha256').update(state).digest('base64url');
  const entry = { purpose: 'openid-login', key, requester: requesterOf(context.request.clientAddress) };
  try {
    return await securityState.add(entry, '1', (login.expiresAt - now) / 1000);
  } catch (error) {
    // An attacker who fills the security state, perhaps from a shared address, must not block logins. Single use of the
    // state is only a second defence: the cookie is removed on first use, and providers accept a code once.
    if (error instanceof SecurityStateFull) return true;
    throw error;
  }
}

async function exchange(
  provider: Provider,
  { code, address }: { readonly code: string; readonly address: string | undefined },
  login: PendingLogin,
): Promise<string> {
  const { server } = provider;
  const { tokenEndpoint, requiresBasicAuth, supportsPkce } = await provider.describe();
  const { client_id: id, client_secret: secret } = provider.parameters;
  const usesHeader = requiresBasicAuth && secret !== '';
  const call: RemoteCall = {
    address,
    ...(usesHeader ? { headers: { Authorization: basicCredentials(id, secret) } } : {}),
    form: {
      code,
      ...(usesHeader ? {} : { client_id: id }),
      ...(usesHeader || secret === '' ? {} : { client_secret: secret }),
      redirect_uri: login.redirectUri,
      grant_type: 'authorization_code',
      ...(supportsPkce ? { code_verifier: login.verifier } : {}),
    },
  };
  const answer = await server.call(tokenEndpoint, call);
  if (answer.status === 400)
    throw refuse(inQuery('code', `the provider returned ${quote(findError(provider, tokenEndpoint, answer))}`));
  if (answer.status !== 200) throw server.unavailable(tokenEndpoint, `it answered ${answer.status}`);
  requireNonce(server.readObject(tokenEndpoint, answer), login);
  return answer.text;
}

/** Refuses an `id_token` that was issued for another login (OpenID Connect Core, 3.1.3.7). */
function requireNonce(answer: JsonObject, { nonce }: PendingLogin): void {
  const token = getKey(answer, 'id_token');
  if (nonce === undefined || token === undefined || readNonce(token) === nonce) return;
  throw refuse(inQuery('code', 'the id_token of the provider belongs to another login'));
}

function readNonce(token: unknown): unknown {
  if (typeof token !== 'string') return undefined;
  try {
    return decodeJwt(token)['nonce'];
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function findError({ server }: Provider, url: string, answer: RemoteAnswer): string {
  const error = getKey(server.readObject(url, answer), 'error');
  return typeof error === 'string' ? error : 'no';
}

/** Error number of invalid tokens in `details`. */
const invalidAuthToken = 105;

/** Returns untrusted text in ASCII, shortened to fit into a sentence. */
function quote(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100);
}
