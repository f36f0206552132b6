// Names of the settings of the families that depend on the service: on its kinds, policies, listeners and rate limits.
import type { CompiledKind } from '../engine/compiled-kind.ts';
import { settingNamesOf } from '../engine/setting-names.ts';
import type { Settings } from '../settings/settings.ts';
import { listenerNames } from './listeners.ts';

/** Returns the names. One that ends with a dot is the beginning of the names of parameters. */
export function servedNames(settings: Settings, kinds: ReadonlyMap<string, CompiledKind>): readonly string[] {
  return [
    ...[...kinds.values()].flatMap(settingNamesOf),
    ...settings.get('multiauth.policies').map((name) => `multiauth.policy.${name}.`),
    'event_listeners',
    ...listenerNames(settings).map((name) => `event_listeners.${name}.`),
    ...settings.get('rate_limits').map((name) => `rate_limits.${name}.`),
  ];
}
