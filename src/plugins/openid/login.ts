// `GET /openid/{provider}/login`: remembers where the token is wanted, and sends the browser to the provider.
import { createHash, randomBytes } from 'node:crypto';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { readCallback, type CallbackRule } from './callback.ts';
import type { Provider } from './provider.ts';
import { inQuery, readOnce, requireOnce } from './query.ts';

export interface LoginOptions {
  readonly cache: CacheBackend;
  readonly rules: readonly CallbackRule[];
  /** `/v1` */
  readonly versionPrefix: string;
}

/** What RFC 6749 allows in a scope, divided by single blanks. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const maxScopeLength = 1024;

export async function handleLogin(
  { cache, rules, versionPrefix }: LoginOptions,
  context: Context,
  provider: Provider,
): Promise<ServiceResponse> {
  const { parameters, name } = provider;
  const { origin } = context.request;
  const { callback, scope, prompt } = readQuery(context, rules, parameters.userid_field);
  const metadata = await provider.describe();
  const state = randomBytes(parameters.state_length).toString('hex');
  const verifier = randomBytes(32).toString('base64url');
  const redirectUri = `${origin}${versionPrefix}/openid/${name}/token`;
  await cache.set(stateKey(name, state), { callback, redirectUri, verifier }, parameters.state_ttl_seconds);

  const target = new URL(metadata.authorizationEndpoint);
  const query: Record<string, string> = {
    client_id: parameters.client_id,
    response_type: 'code',
    scope,
    redirect_uri: redirectUri,
    state,
    ...(prompt === undefined ? {} : { prompt }),
    ...(parameters.audience === '' ? {} : { audience: parameters.audience }),
    ...(metadata.takesProofKeys ? { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' } : {}),
  };
  for (const [key, value] of Object.entries(query)) target.searchParams.set(key, value);
  return secretRedirect(target.href);
}

/** Where the cache keeps a login under way. The name of the provider is part of it: another one cannot end it. */
export function stateKey(provider: string, state: string): string {
  return `openid:state:${provider}:${state}`;
}

/** A redirect that nobody may keep, nor tell to the next page. */
export function secretRedirect(location: string): ServiceResponse {
  const headers = {
    Location: location,
    'Content-Type': 'text/plain',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  };
  return { status: 307, headers, body: '' };
}

function readQuery(
  context: Context,
  rules: readonly CallbackRule[],
  useridField: string,
): { readonly callback: string; readonly scope: string; readonly prompt: string | undefined } {
  const issues: Issue[] = [];
  const wanted = requireOnce(context, 'callback', issues);
  const callback = readCallback(wanted, context.request.origin, rules);
  if (wanted !== '' && 'fault' in callback) issues.push(inQuery('callback', callback.fault));
  const scope = requireOnce(context, 'scope', issues);
  if (scope !== '' && (!scopeForm.test(scope) || scope.length > maxScopeLength)) {
    issues.push(inQuery('scope', 'expected scopes divided by blanks'));
  } else if (scope !== '' && useridField === 'email' && !scope.split(' ').includes('email')) {
    issues.push({
      location: 'body',
      name: 'scope',
      description: 'users are told apart by email, which must be asked for',
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
