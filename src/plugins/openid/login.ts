// `GET /openid/{provider}/login`: redirects the browser to the provider, with a cookie that stores the callback.
import { createHash, randomBytes } from 'node:crypto';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import type { Clock } from '../../base/clock.ts';
import type { SecurityState } from '../../contracts/security-state.ts';
import { findOwnOrigin, readCallback, type CallbackRule } from './callback.ts';
import type { CookieScope } from '../../http/cookies.ts';
import { setLoginCookie } from './login-cookie.ts';
import type { Provider } from './provider.ts';
import { inQuery, readOnce, refuse, requireOnce } from './query.ts';

export interface LoginOptions {
  readonly securityState: SecurityState;
  readonly clock: Clock;
  /** Whether the setting `http_host` is set. */
  readonly isHostConfigured: boolean;
  readonly rules: readonly CallbackRule[];
  /** `/v1` */
  readonly versionPrefix: string;
}

/** Scopes as defined by RFC 6749, separated by single spaces. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const maxScopeLength = 1024;

export async function handleLogin(
  options: LoginOptions,
  context: Context,
  provider: Provider,
): Promise<ServiceResponse> {
  const { parameters, name } = provider;
  const cookieSite = cookieScope(options, context, provider);
  const { callback, scope, prompt } = readQuery(context, options, { parameters, origin: cookieSite.origin });
  const metadata = await provider.describe();
  const state = randomBytes(parameters.state_length).toString('hex');
  const verifier = randomBytes(32).toString('base64url');
  const nonce = scope.split(' ').includes('openid') ? randomBytes(16).toString('base64url') : undefined;
  const redirectUri = `${context.request.origin}${options.versionPrefix}/openid/${name}/token`;
  const now = options.clock.now();
  const login = { callback, redirectUri, verifier, nonce, expiresAt: now + parameters.state_ttl_seconds * 1000 };
  const sent = context.request.headers['cookie'];
  const cookies = setLoginCookie(login, { key: provider.loginKey, state, scope: cookieSite, sent, now });

  const target = new URL(metadata.authorizationEndpoint);
  const query: Record<string, string> = {
    client_id: parameters.client_id,
    response_type: 'code',
    scope,
    redirect_uri: redirectUri,
    state,
    ...(nonce === undefined ? {} : { nonce }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(parameters.audience === '' ? {} : { audience: parameters.audience }),
    ...(metadata.supportsPkce ? { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' } : {}),
  };
  for (const [key, value] of Object.entries(query)) target.searchParams.set(key, value);
  return secretRedirect(target.href, cookies);
}

/**
 * Returns origin and path of the cookies of a provider.
 *
 * @throws ServiceError when the host of the request cannot be trusted
 */
export function cookieScope(
  { versionPrefix, isHostConfigured }: LoginOptions,
  context: Context,
  { name }: Provider,
): CookieScope {
  const origin = findOwnOrigin(context.request.origin, isHostConfigured);
  if (origin !== undefined) return { origin, path: `${versionPrefix}/openid/${name}` };
  const description = 'logins require the setting http_host, unless the service is accessed as localhost';
  throw refuse({ location: 'header', name: 'Host', description });
}

/** Returns a redirect that is not cached and sends no referrer. */
export function secretRedirect(location: string, cookies: readonly string[]): ServiceResponse {
  const headers = {
    Location: location,
    'Content-Type': 'text/plain',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Set-Cookie': cookies,
  };
  return { status: 307, headers, body: '' };
}

function readQuery(
  context: Context,
  { rules, versionPrefix }: LoginOptions,
  { parameters, origin }: { readonly parameters: Provider['parameters']; readonly origin: string },
): { readonly callback: string; readonly scope: string; readonly prompt: string | undefined } {
  const issues: Issue[] = [];
  const given = requireOnce(context, 'callback', issues);
  const callback = readCallback(given, { origin, versionPrefix }, rules);
  if (given !== '' && 'fault' in callback) issues.push(inQuery('callback', callback.fault));
  const scope = requireOnce(context, 'scope', issues);
  if (scope !== '' && (!scopeForm.test(scope) || scope.length > maxScopeLength)) {
    issues.push(inQuery('scope', 'expected scopes separated by single spaces'));
  } else if (scope !== '' && parameters.userid_field === 'email' && !scope.split(' ').includes('email')) {
    issues.push({
      location: 'body',
      name: 'scope',
      description: 'must include email, which identifies users',
    });
  }
  const prompt = readOnce(context, 'prompt', issues);
  if (prompt !== undefined && prompt !== 'none') issues.push(inQuery('prompt', 'expected none'));
  if (issues.length > 0 || 'fault' in callback) throw invalidParameters(issues);
  return { callback: callback.address, scope, prompt };
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
