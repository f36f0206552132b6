// The authentication policies that the settings name, in their order.
import type { AuthenticationPolicy, PolicyFactory } from '../contracts/authentication.ts';
import { basicPolicy } from '../http/authentication/basic.ts';
import { bearerPolicy } from '../http/authentication/bearer.ts';
import type { PluginHost, PluginParts } from '../http/plugin.ts';
import { policyClass } from '../settings/kinto-names.ts';
import { userIdSecret } from '../settings/user-id-secret.ts';
import type { Faults } from './faults.ts';

/** Policies that come with plugins of this software, which may be missing. */
const ofPlugins: ReadonlySet<string> = new Set(['AccountsPolicy', 'OpenIDConnectPolicy']);

/** They become the first part of user ids and parts of addresses; a colon would let two policies share an id. */
const nameForm = /^[A-Za-z0-9_.-]+$/;

/**
 * Makes the policies of `multiauth.policies`. Those without a known implementation, and those with a name that cannot
 * be one, are faults and left out.
 */
export function createPolicies(
  { settings, cache, clock, logger }: Pick<PluginHost, 'settings' | 'cache' | 'clock' | 'logger'>,
  parts: readonly PluginParts[],
  faults: Faults,
): readonly AuthenticationPolicy[] {
  const factories = new Map<string, PolicyFactory>([
    ['BasicAuthAuthenticationPolicy', (context) => basicPolicy({ ...context, secret: userIdSecret(settings) })],
    ['BearerPolicy', bearerPolicy],
  ]);
  for (const { policies } of parts) {
    for (const [name, factory] of Object.entries(policies ?? {})) factories.set(name, factory);
  }
  const names = settings.get('multiauth.policies');
  faults.attempt(() => requireNames(names));
  const create = (name: string): AuthenticationPolicy | undefined => {
    const use = settings.lookup(`multiauth.policy.${name}.use`) ?? defaultUse(name, factories);
    const factory = factories.get(use.slice(use.lastIndexOf('.') + 1)) ?? factories.get(policyClass(use));
    if (factory === undefined) {
      if (faults.hasUnknownGaps || (faults.hasGaps && ofPlugins.has(policyClass(use)))) return undefined;
      throw new Error(
        `multiauth.policies names ${name}, but multiauth.policy.${name}.use is ${use === '' ? 'not set' : use}; ` +
          `use one of ${[...factories.keys()].join(', ')}, or include the plugin that brings it.`,
      );
    }
    const prefix = `multiauth.policy.${name}.`;
    return factory({
      name: name.toLowerCase(),
      parameter: (parameter) => settings.lookup(prefix + parameter),
      givenParameters: settings.keys().flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : [])),
      secret: settings.get('userid_hmac_secret'),
      cache,
      clock,
      logger,
    });
  };
  return names.flatMap((name) => faults.attempt(() => create(name)) ?? []);
}

function requireNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (!nameForm.test(name)) {
      throw new Error(`multiauth.policies names ${name}; expected letters, digits, points, hyphens and underscores.`);
    }
    // Names are told apart as prefixes of user ids, in lower case.
    if (seen.has(name.toLowerCase())) throw new Error(`multiauth.policies names ${name} twice.`);
    seen.add(name.toLowerCase());
  }
}

/** The policies that every deployment calls the same need not be spelled out. */
function defaultUse(name: string, factories: ReadonlyMap<string, PolicyFactory>): string {
  if ((name === 'account' || name === 'accounts') && factories.has('AccountsPolicy')) return 'AccountsPolicy';
  return name === 'basicauth' ? 'BasicAuthAuthenticationPolicy' : '';
}
