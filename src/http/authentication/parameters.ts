// The parameters of a policy, `multiauth.policy.<name>.<parameter>`, read by a table like any other settings, and those
// that all policies with a remote verifier share.
import type { PolicyContext } from '../../contracts/authentication.ts';
import { setting, type SettingsTable, type ValuesOf } from '../../settings/definition.ts';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { duration, flag, integer, matching, text } from '../../settings/readers.ts';

const schemeForm = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const realmForm = /^[^"\\\p{Cc}]+$/u;

/** Of policies that take a token and ask somebody else about it. */
export const remoteParameters = {
  userid_field: setting(text('the name of a field'), 'Field of the answer about a token that is the user id.', {
    default: 'sub',
  }),
  header_type: setting(
    matching(schemeForm, 'one word'),
    'First word of the `Authorization` header; capitals do not matter.',
    { default: 'Bearer' },
  ),
  realm: setting(matching(realmForm, 'text without quotes'), 'Realm in `WWW-Authenticate`.', { default: 'Realm' }),
  verification_ttl_seconds: setting(
    duration({ min: 0 }),
    'How long an accepted token is accepted without asking again, but not beyond its own end. A token that is revoked elsewhere works here for so long; 0 asks every time.',
    { default: 86_400 },
  ),
  timeout_seconds: setting(
    duration({ min: 0.01, max: 60 }),
    'Time that one call to the remote server may take, answer included.',
    { default: 5 },
  ),
  response_limit_bytes: setting(integer({ min: 256 }), 'Bytes that an answer of the remote server may have.', {
    default: 262_144,
  }),
  max_concurrent_calls: setting(
    integer({ min: 1 }),
    'Calls to the remote server that may be under way in one process; more are refused with 503.',
    { default: 100 },
  ),
  allow_http: setting(
    flag(),
    'Whether the remote server may be called without TLS. Without it only addresses of the same machine may.',
    { default: false },
  ),
} satisfies SettingsTable;

export type RemoteParameters = ValuesOf<typeof remoteParameters>;

/**
 * The values of a table of parameters, with warnings for parameters that it does not have.
 *
 * @throws SettingsError naming everything that is wrong
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

/** A parameter as it is written in the settings. */
export function parameterName({ name }: PolicyContext, key: string): string {
  return `multiauth.policy.${name}.${key}`;
}

/** What is wrong with an address of a remote server; `undefined` when it may be called. */
export function findAddressFault(address: string, allowHttp: boolean): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'expected a URL that starts with https://';
  if (url.username !== '' || url.password !== '') return 'expected a URL without user name and password';
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    return 'expected a URL that starts with https://, since this one is on another machine (allow_http allows it)';
  }
  return undefined;
}

/** Whether a host of a URL is this machine by its very name. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}
