// The authentication policies that the settings name, in their order.
import type { AuthenticationPolicy, PolicyFactory } from '../contracts/authentication.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import { basicPolicy } from '../http/authentication/basic.ts';
import type { PluginParts } from '../http/plugin.ts';
import type { Settings } from '../settings/settings.ts';

/**
 * Makes the policies of `multiauth.policies`.
 *
 * @throws Error for a policy without a known implementation
 */
export function createPolicies(
  settings: Settings,
  cache: CacheBackend,
  parts: readonly PluginParts[],
): readonly AuthenticationPolicy[] {
  const factories = new Map<string, PolicyFactory>([['BasicAuthAuthenticationPolicy', basicPolicy]]);
  for (const { policies } of parts) {
    for (const [name, factory] of Object.entries(policies ?? {})) factories.set(name, factory);
  }
  return settings.get('multiauth.policies').map((name) => {
    const use = settings.lookup(`multiauth.policy.${name}.use`) ?? defaultUse(name, factories);
    const factory = factories.get(use.slice(use.lastIndexOf('.') + 1));
    if (factory === undefined) {
      throw new Error(
        `multiauth.policies names ${name}, but multiauth.policy.${name}.use is ${use === '' ? 'not set' : use}; ` +
          `use one of ${[...factories.keys()].join(', ')}${name === 'account' ? ', or include the plugin accounts' : ''}.`,
      );
    }
    return factory({
      name: name.toLowerCase(),
      parameter: (parameter) => settings.lookup(`multiauth.policy.${name}.${parameter}`),
      secret: settings.get('userid_hmac_secret'),
      cache,
    });
  });
}

/** The policies that every deployment calls the same need not be spelled out. */
function defaultUse(name: string, factories: ReadonlyMap<string, PolicyFactory>): string {
  if (name === 'account' && factories.has('AccountsPolicy')) return 'AccountsPolicy';
  return name === 'basicauth' ? 'BasicAuthAuthenticationPolicy' : '';
}
