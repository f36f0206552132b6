// Creates the policies in the settings: authentication policies in their order, and the authorization policy.
import type { AuthenticationPolicy, PolicyFactory } from '../contracts/authentication.ts';
import { basicPolicy } from '../http/authentication/basic.ts';
import { bearerPolicy } from '../http/authentication/bearer.ts';
import { messageOf } from '../base/message-of.ts';
import type { AuthorizationPolicy } from '../engine/access.ts';
import type { AuthorizationFactory, PluginHost, PluginParts } from '../http/plugin.ts';
import { loadModule } from '../loader/modules.ts';
import { builtInAuthorization } from '../settings/rows/access.ts';
import { policyClass, usualPolicyNames } from '../settings/kinto-names.ts';
import type { Settings } from '../settings/settings.ts';
import { userIdSecret } from '../settings/user-id-secret.ts';
import type { Faults } from './faults.ts';

/** Policies of built-in plugins, which may be missing. */
const ofPlugins: ReadonlySet<string> = new Set(['AccountsPolicy', 'OpenIDConnectPolicy']);

/** Names become prefixes of user ids and parts of paths. With a colon in a name, two policies could share a user id. */
const nameForm = /^[A-Za-z0-9_.-]+$/;

/**
 * Creates the policies of `multiauth.policies`. Unknown implementations and invalid names are collected as faults, and those
 * policies are left out.
 */
export function createPolicies(
  { settings, cache, clock, logger }: Pick<PluginHost, 'settings' | 'cache' | 'clock' | 'logger'>,
  parts: readonly PluginParts[],
  faults: Faults,
): readonly AuthenticationPolicy[] {
  const reserved = reservedNames(settings);
  const isPolicyName = (user: string): boolean => reserved.has(user);
  const factories = new Map<string, PolicyFactory>([
    [
      'BasicAuthAuthenticationPolicy',
      (context) => basicPolicy({ ...context, secret: userIdSecret(settings), isPolicyName }),
    ],
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
          `use one of ${[...factories.keys()].join(', ')}, or include the plugin that provides it.`,
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
  const policies = names.flatMap((name) => faults.attempt(() => create(name)) ?? []);
  for (const { name } of policies) reserved.add(name);
  return policies;
}

/** Returns the names of policies with settings, whether they are in use or not, and those that policies have by convention. */
function reservedNames(settings: Pick<Settings, 'get' | 'keys'>): Set<string> {
  const withSettings = settings.keys().flatMap((key) => /^multiauth\.policy\.(.+)\.[^.]+$/.exec(key)?.[1] ?? []);
  const names = [...settings.get('multiauth.policies'), ...withSettings, ...usualPolicyNames];
  return new Set(names.map((name) => name.toLowerCase()));
}

function requireNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (!nameForm.test(name)) {
      throw new Error(`multiauth.policies names ${name}; expected letters, digits, points, hyphens and underscores.`);
    }
    // User ids contain the names in lower case.
    if (seen.has(name.toLowerCase())) throw new Error(`multiauth.policies names ${name} twice.`);
    seen.add(name.toLowerCase());
  }
}

/** Returns the default implementation of policies with a conventional name. */
function defaultUse(name: string, factories: ReadonlyMap<string, PolicyFactory>): string {
  if ((name === 'account' || name === 'accounts') && factories.has('AccountsPolicy')) return 'AccountsPolicy';
  return name === 'basicauth' ? 'BasicAuthAuthenticationPolicy' : '';
}

const authorizationSetting = 'multiauth.authorization_policy';

/**
 * Creates the authorization policy in the settings, from a plugin or a module. Returns `undefined` when none is set:
 * permission entries and settings decide alone.
 *
 * @throws Error when no policy has that name, or it cannot be created
 */
export async function createAuthorization(
  host: PluginHost,
  parts: readonly PluginParts[],
): Promise<AuthorizationPolicy | undefined> {
  const name = host.settings.get(authorizationSetting);
  if (builtInAuthorization.test(name)) return undefined;
  try {
    const factory = await findFactory(name, parts);
    return requirePolicy(await factory(host));
  } catch (error) {
    throw new Error(`${authorizationSetting} names ${name}, which cannot be used: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function findFactory(name: string, parts: readonly PluginParts[]): Promise<AuthorizationFactory> {
  for (const { authorizations } of parts) {
    if (authorizations !== undefined && Object.hasOwn(authorizations, name)) return authorizations[name]!;
  }
  const module = await loadModule(name);
  for (const candidate of [module['default'], module['createAuthorization']])
    if (isFactory(candidate)) return candidate;
  throw new Error('that module exports no function createAuthorization.');
}

function isFactory(value: unknown): value is AuthorizationFactory {
  return typeof value === 'function';
}

function requirePolicy(policy: AuthorizationPolicy): AuthorizationPolicy {
  if (typeof policy === 'object' && typeof policy.decide === 'function') return policy;
  throw new Error('it has no method decide.');
}
