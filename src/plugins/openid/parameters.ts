// The parameters of one provider and their validation.
import type { PolicyContext } from '../../contracts/authentication.ts';
import {
  findAddressFault,
  parameterName,
  readParameters,
  remoteParameters,
} from '../../http/authentication/parameters.ts';
import { setting, type SettingsTable, type ValuesOf } from '../../settings/definition.ts';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { duration, flag, integer, list, text } from '../../settings/readers.ts';

/** Asymmetric algorithms. With symmetric ones, every party that can verify could also sign. */
const acceptedAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

export const openidParameters = {
  issuer: setting(text('a URL'), 'URL of the provider, which serves `/.well-known/openid-configuration` below it.', {
    default: '',
  }),
  client_id: setting(text(), 'Client id of this service at the provider.', { default: '' }),
  client_secret: setting(text(), 'Client secret of this service at the provider; empty for public clients.', {
    default: '',
    isSecret: true,
  }),
  audience: setting(
    text(),
    'Required audience of access tokens, which must then be JWTs signed by the provider; also requested at login. Empty accepts any token of the provider, including those issued for other applications.',
    { default: '' },
  ),
  use_userinfo: setting(
    flag(),
    'Requests user information from the provider. If false, which requires `audience`, the claims of the access token are used.',
    { default: true },
  ),
  algorithms: setting(
    list(`some of ${acceptedAlgorithms.join(', ')}`),
    'Accepted signature algorithms of access tokens.',
    {
      default: acceptedAlgorithms,
    },
  ),
  clock_tolerance_seconds: setting(
    duration({ min: 0, max: 600 }),
    'Maximum difference between the clocks of the provider and of this service, in seconds.',
    { default: 30 },
  ),
  state_ttl_seconds: setting(duration({ min: 1 }), 'Time limit of a login, in seconds.', { default: 3600 }),
  state_length: setting(integer({ min: 16, max: 256 }), 'Length of the random `state` parameter, in bytes.', {
    default: 32,
  }),
  ...remoteParameters,
} satisfies SettingsTable;

export type OpenidParameters = ValuesOf<typeof openidParameters>;

/**
 * Reads and checks the parameters of a provider.
 *
 * @throws SettingsError with all problems
 */
export function readOpenidParameters(context: PolicyContext): OpenidParameters {
  const parameters = readParameters(context, openidParameters);
  const problems: Problem[] = [];
  const complain = (key: keyof OpenidParameters, message: string): void => {
    problems.push({ name: parameterName(context, key), message });
  };
  const { issuer, client_id: clientId, audience } = parameters;
  const fault = issuer === '' ? 'must be set' : findAddressFault(issuer, parameters.allow_http);
  if (fault !== undefined) complain('issuer', fault);
  else if (/[?#]/.test(issuer)) complain('issuer', 'expected a URL without query');
  if (clientId === '') complain('client_id', 'must be set');
  const unknown = parameters.algorithms.filter((name) => !acceptedAlgorithms.some((accepted) => accepted === name));
  if (unknown.length > 0 || parameters.algorithms.length === 0) {
    complain('algorithms', `expected some of ${acceptedAlgorithms.join(', ')}`);
  }
  if (!parameters.use_userinfo && audience === '') complain('use_userinfo', 'can only be false with audience');
  if (!parameters.use_userinfo && audience === clientId) {
    // The audience of ID tokens is the client, and they are not access tokens.
    complain('audience', 'must differ from client_id when use_userinfo is false');
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return parameters;
}
