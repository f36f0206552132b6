// The parameters of one provider: the table, and what its rows must be together.
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

/** Signatures that only the holder of a private key can make; with others, who can verify could also sign. */
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

/** Parameters of the policy. */
export const openidParameters = {
  issuer: setting(text('a URL'), 'Address of the provider, below which `/.well-known/openid-configuration` is found.', {
    default: '',
  }),
  client_id: setting(text(), 'Name of this service at the provider.', { default: '' }),
  client_secret: setting(text(), 'Password of this service at the provider; public clients have none.', {
    default: '',
    isSecret: true,
  }),
  audience: setting(
    text(),
    'When set, access tokens must be JWTs signed by the provider and made for this audience; it is also asked for at login. Without it any token of the provider is accepted, also one that was made for another application.',
    { default: '' },
  ),
  use_userinfo: setting(
    flag(),
    'Whether the provider is asked about the user. Without it, which needs `audience`, what the access token says is enough.',
    { default: true },
  ),
  algorithms: setting(list(`some of ${acceptedAlgorithms.join(', ')}`), 'Signatures that access tokens may have.', {
    default: acceptedAlgorithms,
  }),
  clock_tolerance_seconds: setting(
    duration({ min: 0, max: 600 }),
    'By how much the clocks of the provider and of this service may differ.',
    { default: 30 },
  ),
  state_ttl_seconds: setting(duration({ min: 1 }), 'Time that a user has to log in.', { default: 3600 }),
  state_length: setting(integer({ min: 16, max: 256 }), 'Random bytes by which a login is told from others.', {
    default: 32,
  }),
  ...remoteParameters,
} satisfies SettingsTable;

export type OpenidParameters = ValuesOf<typeof openidParameters>;

/**
 * Reads and checks the parameters of a provider.
 *
 * @throws SettingsError naming everything that is wrong
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
    // ID tokens are made for the client, and are no access tokens.
    complain('audience', 'must differ from client_id when use_userinfo is false');
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return parameters;
}
