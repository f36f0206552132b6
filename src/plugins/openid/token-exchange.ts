// `GET /openid/{provider}/token`: the provider sends the browser here with a code, which is changed for a token, which is
// sent on to where the login was begun.
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { basicCredentials } from '../../http/authentication/bearer.ts';
import type { RemoteAnswer, RemoteCall } from '../../http/authentication/remote-server.ts';
import { secretRedirect, stateKey } from './login.ts';
import type { Provider } from './provider.ts';
import { inQuery, readOnce, refuse, requireOnce } from './query.ts';

interface Login {
  readonly callback: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

const maxStateLength = 512;

export async function handleToken(cache: CacheBackend, context: Context, provider: Provider): Promise<ServiceResponse> {
  const issues: Issue[] = [];
  const state = requireOnce(context, 'state', issues);
  const refusal = readOnce(context, 'error', issues);
  const code = refusal === undefined ? requireOnce(context, 'code', issues) : '';
  if (issues.length > 0) throw invalidParameters(issues);
  // Taken out, so that of any number of requests with one state a single one goes on.
  const login =
    state.length > maxStateLength ? undefined : readLogin(await cache.delete(stateKey(provider.name, state)));
  if (login === undefined) {
    const description = 'this login is unknown, has been used, or has taken too long';
    throw refuse({ location: 'body', name: 'state', description, errno: invalidAuthToken });
  }
  if (refusal !== undefined) throw refuse(inQuery('error', `the provider says ${quote(refusal)}`));
  const answer = await exchange(provider, code, login);
  return secretRedirect(login.callback + encodeURIComponent(Buffer.from(answer, 'utf8').toString('base64')));
}

async function exchange(provider: Provider, code: string, login: Login): Promise<string> {
  const { server } = provider;
  const { tokenEndpoint, takesBasicOnly, takesProofKeys } = await provider.describe();
  const { client_id: id, client_secret: secret } = provider.parameters;
  const usesHeader = takesBasicOnly && secret !== '';
  const call: RemoteCall = {
    ...(usesHeader ? { headers: { Authorization: basicCredentials(id, secret) } } : {}),
    form: {
      code,
      ...(usesHeader ? {} : { client_id: id }),
      ...(usesHeader || secret === '' ? {} : { client_secret: secret }),
      redirect_uri: login.redirectUri,
      grant_type: 'authorization_code',
      ...(takesProofKeys ? { code_verifier: login.verifier } : {}),
    },
  };
  const answer = await server.call(tokenEndpoint, call);
  if (answer.status === 400)
    throw refuse(inQuery('code', `the provider says ${quote(findError(provider, tokenEndpoint, answer))}`));
  if (answer.status !== 200) throw server.unavailable(tokenEndpoint, `it answered ${answer.status}`);
  server.readObject(tokenEndpoint, answer);
  return answer.text;
}

function findError({ server }: Provider, url: string, answer: RemoteAnswer): string {
  const error = getKey(server.readObject(url, answer), 'error');
  return typeof error === 'string' ? error : 'no';
}

/** Number of tokens that are not good, inside `details`. */
const invalidAuthToken = 105;

/** Of what a stranger wrote, as much as fits into a sentence. */
function quote(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100);
}

function readLogin(value: JsonValue | undefined): Login | undefined {
  if (!isJsonObject(value)) return undefined;
  const callback = getKey(value, 'callback');
  const redirectUri = getKey(value, 'redirectUri');
  const verifier = getKey(value, 'verifier');
  if (typeof callback !== 'string' || typeof redirectUri !== 'string' || typeof verifier !== 'string') return undefined;
  return { callback, redirectUri, verifier };
}
