// Names of plugins in files of existing deployments: modules of the reference server, and packages that extend it.
import type { Renamed } from '../readers.ts';

/** Plugins that have the same name here, after the prefix of the reference server. */
const sameNames: ReadonlySet<string> = new Set([
  'accounts',
  'admin',
  'changes',
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

/** Plugins that have another name here, several, or none because they are built in. */
const otherNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['attachment', ['attachments']],
  ['remote_settings', ['changes', 'signer']],
  ['remote_settings.changes', ['changes']],
  ['remote_settings.signer', ['signer']],
  ['redis', []],
]);

/**
 * Returns the names here of a plugin in `includes`. A name that is not known stays as it is, so that the error about
 * it shows what the file says.
 */
export function currentPluginNames(name: string): Renamed {
  // Without a prefix, one short name differs.
  if (name === 'attachment') return { names: ['attachments'], note: deprecation(name, ['attachments']) };
  const rest = /^kinto(?:\.plugins\.|[-_])(.+)$/.exec(name)?.[1]?.replaceAll('-', '_');
  if (rest === undefined) return { names: [name] };
  const names = otherNames.get(rest) ?? (sameNames.has(rest) ? [rest] : undefined);
  return names === undefined ? { names: [name] } : { names, note: deprecation(name, names) };
}

function deprecation(name: string, names: readonly string[]): string {
  return names.length === 0 ? `${name} is built in, leave it out` : `${name} is deprecated, write ${names.join(' ')}`;
}
