// Names and spellings of Kinto in settings, and what Coffer calls the same things: plugins, authentication policies and
// listeners.
import { wrapText, type Reading, type Renamed } from './readers.ts';
import { builtInAuthorization } from './rows/access.ts';

/** Plugins with the same name in Kinto, after its prefix. */
const samePlugins: ReadonlySet<string> = new Set([
  'accounts',
  'admin',
  'changes',
  'counters',
  'default_bucket',
  'emailer',
  'flush',
  'history',
  'openid',
  'prometheus',
  'quotas',
  'signer',
  'statsd',
]);

/** Plugins of Kinto with another name here, with several names, or with none because they are built in. */
const pluginNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['attachment', ['attachments']],
  ['remote_settings', ['changes', 'signer']],
  ['remote_settings.changes', ['changes']],
  ['remote_settings.signer', ['signer']],
  ['redis', []],
]);

/**
 * Returns the current names of a plugin in `includes`. An unknown name is returned unchanged, so that the error about it
 * quotes the file.
 */
export function currentPluginNames(name: string): Renamed {
  // The only short name without prefix that differs.
  if (name === 'attachment') return { names: ['attachments'], note: deprecation(name, ['attachments']) };
  const rest = /^kinto(?:\.plugins\.|[-_])(.+)$/.exec(name)?.[1]?.replaceAll('-', '_');
  if (rest === undefined) return { names: [name] };
  const names = pluginNames.get(rest) ?? (samePlugins.has(rest) ? [rest] : undefined);
  return names === undefined ? { names: [name] } : { names, note: deprecation(name, names) };
}

function deprecation(name: string, names: readonly string[]): string {
  return names.length === 0 ? `${name} is built in; remove it` : `${name} is deprecated; write ${names.join(' ')}`;
}

/** Policies by short name, and by last part of a dotted name when it differs from the name here. */
const policyNames: ReadonlyMap<string, string> = new Map([
  ['basicauth', 'BasicAuthAuthenticationPolicy'],
  ['account', 'AccountsPolicy'],
  ['accounts', 'AccountsPolicy'],
  ['AccountsAuthenticationPolicy', 'AccountsPolicy'],
  ['openid', 'OpenIDConnectPolicy'],
  ['bearer', 'BearerPolicy'],
]);

/** Names that policies have by convention. */
export const usualPolicyNames: readonly string[] = [...policyNames.keys()];

/**
 * Returns the name of the implementation that `multiauth.policy.<name>.use` means: `AccountsPolicy` for
 * `kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy`. For an unknown name, returns its last part.
 */
export function policyClass(use: string): string {
  const last = use.slice(use.lastIndexOf('.') + 1);
  return policyNames.get(last) ?? last;
}

/** Settings with several spellings of a name whose readers keep the given one. */
const renames: readonly (readonly [key: RegExp, rename: (text: string) => string])[] = [
  [/^multiauth\.policy\.[^.]+\.use$/, policyClass],
  [/^event_listeners\.[^.]+\.use$/, listenerName],
  [/^multiauth\.groupfinder$/, () => 'groupfinder'],
  [/^multiauth\.authorization_policy$/, (text) => (builtInAuthorization.test(text) ? 'AuthorizationPolicy' : text)],
];

/**
 * Returns the text of a setting in its current spelling.
 *
 * @param reading result of the setting's reader; `undefined` for settings without one
 */
export function currentSpelling(key: string, text: string, reading: Reading<unknown> | undefined): string {
  if (text === '') return text;
  const rename = renames.find(([pattern]) => pattern.test(key))?.[1];
  if (rename !== undefined) return rename(text);
  if (reading?.kind !== 'value') return text;
  if (typeof reading.value === 'string') return wrapText(reading.value);
  const isRenamed = reading.note !== undefined && Array.isArray(reading.value);
  if (!isRenamed) return text;
  const words = (reading.value as readonly unknown[]).map(String);
  return words.every((word) => /^[^\s,[#;"]+$/.test(word)) ? words.join('\n') : JSON.stringify(words);
}

function listenerName(text: string): string {
  if (text === 'kinto_redis.listeners') return 'redis';
  return /^(?:svc|kinto\.core)\.listeners\.(\w+)$/.exec(text)?.[1] ?? text;
}
