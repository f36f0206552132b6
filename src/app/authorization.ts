// The authorization policy that the settings name, if any: of a plugin, or of a module.
import { messageOf } from '../base/message-of.ts';
import type { AuthorizationPolicy } from '../engine/access.ts';
import type { AuthorizationFactory, PluginHost, PluginParts } from '../http/plugin.ts';
import { builtInAuthorization } from '../settings/rows/access.ts';
import { loadModule } from '../loader/modules.ts';

const setting = 'multiauth.authorization_policy';

/**
 * Makes the policy; `undefined`: settings and entries decide alone.
 *
 * @throws Error when there is none of that name, or it cannot be made
 */
export async function createAuthorization(
  host: PluginHost,
  parts: readonly PluginParts[],
): Promise<AuthorizationPolicy | undefined> {
  const name = host.settings.get(setting);
  if (builtInAuthorization.test(name)) return undefined;
  try {
    const factory = await findFactory(name, parts);
    return requirePolicy(await factory(host));
  } catch (error) {
    throw new Error(`${setting} names ${name}, which cannot be used: ${messageOf(error)}`, { cause: error });
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
