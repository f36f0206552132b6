// Parameters of a policy, `multiauth.policy.<name>.<parameter>`, read by a table like other settings, and the common ones of
// policies with a remote server.
import { isLoopbackName } from '../allowed-hosts.ts';
import type { PolicyContext } from '../../contracts/authentication.ts';
import { setting, type SettingsTable, type ValuesOf } from '../../settings/definition.ts';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { duration, flag, integer, matching, text } from '../../settings/readers.ts';

const schemeForm = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const realmForm = /^[^"\\\p{Cc}]+$/u;

/** Parameters of policies that verify tokens at a remote server. */
export const remoteParameters = {
  userid_field: setting(text('the name of a field'), 'Field of the response about a token with the user id.', {
    default: 'sub',
  }),
  header_type: setting(matching(schemeForm, 'one word'), 'Scheme of the `Authorization` header, not case-sensitive.', {
    default: 'Bearer',
  }),
  realm: setting(matching(realmForm, 'text without quotes'), 'Realm in `WWW-Authenticate`.', { default: 'Realm' }),
  verification_ttl_seconds: setting(
    duration({ min: 0 }),
    'Time for which an accepted token is not verified again, at most until it expires. A revoked token stays valid for this time; 0 verifies every request.',
    { default: 86_400 },
  ),
  timeout_seconds: setting(
    duration({ min: 0.01, max: 60 }),
    'Maximum time of a call to the remote server, including the response.',
    { default: 5 },
  ),
  response_limit_bytes: setting(integer({ min: 256 }), 'Maximum size in bytes of a response of the remote server.', {
    default: 262_144,
  }),
  max_concurrent_calls: setting(
    integer({ min: 1 }),
    'Maximum number of concurrent calls to the remote server per process. As many wait, and client addresses take turns. Above that, requests of the address with the most get 503.',
    { default: 100 },
  ),
  allow_http: setting(
    flag(),
    'Whether the remote server may be called without TLS. If false, only loopback addresses may.',
    { default: false },
  ),
} satisfies SettingsTable;

/** Parameters of policies that take names and passwords. */
export const passwordParameters = { realm: remoteParameters.realm } satisfies SettingsTable;

export type RemoteParameters = ValuesOf<typeof remoteParameters>;

/**
 * Returns the values of a table of parameters, and logs warnings for unknown parameters.
 *
 * @throws SettingsError with all problems
 */
export function readParameters<T extends SettingsTable>(context: PolicyContext, table: T): ValuesOf<T> {
  const problems: Problem[] = [];
  const values = Object.entries(table).map(([key, row]) => {
    const given = context.parameter(key)?.trim();
    const reading = given === undefined ? undefined : row.reader.read(given);
    if (reading?.kind === 'value') return [key, reading.value] as const;
    if (reading?.kind === 'wrong') {
      const shown = row.isSecret ? {} : { given };
      problems.push({ name: parameterName(context, key), ...shown, message: `expected ${reading.expected}` });
    }
    return [key, row.default] as const;
  });
  if (problems.length > 0) throw new SettingsError(problems);
  for (const key of context.givenParameters) {
    if (key === 'use' || Object.hasOwn(table, key)) continue;
    context.logger.warn(`unknown setting ${parameterName(context, key)}: this policy has no such parameter`);
  }
  return Object.fromEntries(values) as ValuesOf<T>;
}

/** Returns the name of the setting of a parameter. */
export function parameterName({ name }: PolicyContext, key: string): string {
  return `multiauth.policy.${name}.${key}`;
}

/**
 * Returns why the URL of a remote server is refused; `undefined` when it is accepted.
 *
 * @param source URL of the server that named the address, if it is not from the operator. Only a server on this machine may lead
 *   to others on this machine without TLS.
 */
export function findAddressFault(address: string, allowHttp: boolean, source = address): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'expected a URL that starts with https://';
  if (url.username !== '' || url.password !== '') return 'expected a URL without user name and password';
  const isLocal = [url, new URL(source)].every(({ hostname }) => isLoopbackName(hostname));
  if (url.protocol === 'http:' && !allowHttp && !isLocal) {
    const what = source === address ? 'this one' : 'this one or the server that names it';
    return `expected a URL that starts with https://, because ${what} is on another machine (allow_http permits it)`;
  }
  return undefined;
}
