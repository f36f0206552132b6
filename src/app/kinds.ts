// The kinds of objects that the service serves: the built-in ones and those of plugins, compiled with their settings.
import type { AuthorizationPolicy } from '../engine/access.ts';
import { cacheLifetimes } from '../engine/cache-lifetimes.ts';
import { compileKinds, type CompiledKind, type KindSettings } from '../engine/compiled-kind.ts';
import { withDefaultPermissions } from '../engine/default-permissions.ts';
import { withAddedPermissions } from '../engine/kind.ts';
import type { PluginParts } from '../http/plugin.ts';
import { builtInKinds } from '../resources/kinds.ts';
import type { Settings } from '../settings/settings.ts';

/** Returns the options common to all kinds: settings, id generators and the authorization policy. */
export function kindSettings(
  settings: Settings,
  parts: readonly PluginParts[],
  authorization: AuthorizationPolicy | undefined,
): KindSettings {
  return {
    maxIdLength: settings.get('max_id_length'),
    idGenerators: new Map(parts.flatMap(({ idGenerators }) => Object.entries(idGenerators ?? {}))),
    authorization,
    text: (key) => settings.lookup(key),
    list: (key) => settings.lookupList(key) ?? [],
    flag: (key, byDefault) => settings.lookupFlag(key) ?? byDefault,
    cacheSeconds: cacheLifetimes(settings),
  };
}

/**
 * Compiles all kinds, by name.
 *
 * @throws Error when a declaration or a setting of a kind is wrong
 */
export function createKinds(
  settings: Settings,
  ofKinds: KindSettings,
  parts: readonly PluginParts[],
): ReadonlyMap<string, CompiledKind> {
  const builtIn = settings.get('built_in_kinds')
    ? builtInKinds({
        cacheSeconds: ofKinds.cacheSeconds,
        maxMembers: settings.get('max_members'),
        maxIndexes: settings.get('max_indexes'),
        maxIndexFields: settings.get('max_index_fields'),
        validatesSchemas: settings.get('experimental_collection_schema_validation'),
      })
    : [];
  const declared = withDefaultPermissions([...builtIn, ...parts.flatMap(({ kinds = [] }) => kinds)]);
  const added = parts.flatMap(({ permissions = [] }) => permissions);
  return compileKinds(withAddedPermissions(declared, added), ofKinds);
}
