// Compiles declared kinds: paths become functions, permissions become rules, and the id generator is chosen. Done once at
// start, so that requests look nothing up by name.
import type { ListIndex } from '../core/query/ast.ts';
import { parseIndexes } from '../core/index/definition.ts';
import { findIdGenerator, type IdGenerator } from '../core/objects/ids.ts';
import { createIdRule, type IdRule } from '../core/objects/object-id.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { ListKey } from '../core/objects/stored.ts';
import {
  compileObjectUri,
  compileUriTemplate,
  listFolder,
  objectTemplate,
  type ObjectUri,
} from '../core/objects/uris.ts';
import { AUTHENTICATED, toPrincipals, type Principal } from '../core/permissions/principals.ts';
import { createInheritance, settingName, type Inheritance } from '../core/permissions/inheritance.ts';
import type { ListTraits } from '../core/query/resolve.ts';
import type { AccessRule, AuthorizationPolicy } from './access.ts';
import { compileAttributes, type AttributeRules } from './attributes.ts';
import type { Caller } from './caller.ts';
import type { ResourceKind } from './kind.ts';
import { compileOwnedList, uriPathOf, type OwnedList } from './owned-lists.ts';

/** Settings as kinds read them, once at start. */
export interface KindSettings {
  /** Maximum length of an id in characters; 0 means unlimited. */
  readonly maxIdLength: number;
  /** Id generators besides the built-in ones, by name. */
  readonly idGenerators?: ReadonlyMap<string, IdGenerator>;
  /** Policy that makes the final decision on every access; absent: settings and entries decide. */
  readonly authorization?: AuthorizationPolicy | undefined;
  /** Returns the value of a setting by its flat name, or `undefined`. */
  readonly text: (key: string) => string | undefined;
  readonly list: (key: string) => readonly string[];
  /** Returns the value of a setting such as `record_cache_expires_seconds`, or `undefined`. */
  readonly cacheSeconds: (key: string) => number | undefined;
  readonly flag: (key: string, byDefault: boolean) => boolean;
}

export interface CompiledKind {
  readonly name: string;
  /** Plural of the name. */
  readonly plural: string;
  readonly declaration: ResourceKind;
  readonly parent: CompiledKind | undefined;
  /** Owned lists in its path, its own included; empty for most kinds. */
  readonly owned: readonly OwnedList[];
  /** Rules that check and complete attributes; `undefined` for a kind without a schema. */
  readonly attributes: AttributeRules | undefined;
  readonly ids: IdRule;
  /** Name of its id in paths, such as `record_id`. */
  readonly idName: string;
  /** Names of the permissions that objects store; empty for user resources. */
  readonly permissions: readonly string[];
  readonly isShareable: boolean;
  /** Indexes of all its lists. `parent`: the object above each list declares them. */
  readonly indexes: readonly ListIndex[] | 'parent';
  /** Attributes that queries treat specially. */
  readonly traits: ListTraits;
  /** Path of its lists in URIs, with the owner after each owned list. */
  readonly uriPath: string;
  /** Template of the URIs of its objects. */
  readonly uriTemplate: string;
  /** Returns the principals in a setting such as `task_create_principals`, or the defaults of the kind. */
  readonly settingPrincipals: (setting: string) => readonly Principal[];
  /** Returns the path of an object below the version prefix. The ids include its own. */
  readonly address: (ids: PathIds) => string;
  /** Cache lifetime of anonymous responses in seconds, as in the declaration; a number where only a setting decides. */
  readonly cacheSeconds: ResourceKind['cacheSeconds'] | number;
  /** Returns the URI of the list, such as `/buckets/food/groups`. */
  readonly listUri: (ids: PathIds) => string;
  /** Returns the URI of an object. The ids include its own. */
  readonly objectUri: (ids: PathIds) => ObjectUri;
  readonly listKey: (ids: PathIds, caller: Caller) => ListKey;
  /** Returns the rule for a permission on an object of the kind, such as one that a plugin has added. */
  readonly rule: (permission: string) => AccessRule;
  readonly rules: {
    readonly readList: AccessRule;
    readonly writeList: AccessRule;
    readonly create: AccessRule;
    readonly read: AccessRule;
    readonly write: AccessRule;
  };
}

/**
 * Compiles kinds, parents before children.
 *
 * @throws Error when a declaration does not fit: unknown parent, missing permissions, unknown id generator
 */
export function compileKinds(
  kinds: readonly ResourceKind[],
  settings: KindSettings,
): ReadonlyMap<string, CompiledKind> {
  const inheritance = createInheritance(
    Array.from(uriPaths(kinds), ({ declaration: { name, flavour, permissions }, uriPath }) => ({
      name,
      flavour,
      path: uriPath,
      ...(permissions === undefined ? {} : { permissions }),
    })).filter(({ flavour }) => flavour === 'shareable'),
  );
  const compiled = new Map<string, CompiledKind>();
  for (const kind of kinds) {
    if (compiled.has(kind.name)) throw new Error(`The resource kind ${kind.name} is declared twice.`);
    compiled.set(kind.name, compileKind(kind, compiled, inheritance, settings));
  }
  return compiled;
}

interface PlacedKind {
  readonly declaration: ResourceKind;
  readonly uriPath: string;
}

function uriPaths(kinds: readonly ResourceKind[]): Iterable<PlacedKind> {
  const placed = new Map<string, PlacedKind>();
  for (const kind of kinds) {
    const parent = kind.parent === undefined ? undefined : placed.get(kind.parent);
    placed.set(kind.name, { declaration: kind, uriPath: uriPathOf(kind, parent) });
  }
  return placed.values();
}

function compileIndexes({ name, indexes = [] }: ResourceKind): CompiledKind['indexes'] {
  if (indexes === 'parent') return indexes;
  const faults: string[] = [];
  const parsed = parseIndexes(indexes, (place, description) => faults.push(`${place}: ${description}`));
  if (parsed === undefined) throw new Error(`The resource kind ${name} declares wrong indexes: ${faults.join(', ')}.`);
  return parsed;
}

function compileKind(
  kind: ResourceKind,
  known: ReadonlyMap<string, CompiledKind>,
  inheritance: Inheritance,
  settings: KindSettings,
): CompiledKind {
  const parent = kind.parent === undefined ? undefined : known.get(kind.parent);
  if (kind.parent !== undefined && parent === undefined) {
    throw new Error(`The resource kind ${kind.name} names the unknown parent ${kind.parent}.`);
  }
  const isShareable = kind.flavour === 'shareable';
  if (isShareable && kind.permissions === undefined) {
    throw new Error(`The shareable resource kind ${kind.name} declares no permissions.`);
  }
  if (parent !== undefined && !parent.isShareable) {
    // Objects of two users may have the same id, and would share the lists below them.
    throw new Error(
      `The resource kind ${kind.name} lies below ${parent.name}, a user resource, which has no children.`,
    );
  }
  const ownList = compileOwnedList(kind);
  const owned = [...(parent?.owned ?? []), ...(ownList === undefined ? [] : [ownList])];
  const uriPath = uriPathOf(kind, parent);
  const uriTemplate = objectTemplate(kind.name, uriPath);
  const settingPrincipals = compileSettingPrincipals(kind, settings);
  const policy = settings.authorization;
  /** @param decided name of the permission for an authorization policy */
  const ruleOn = (grantor: string, permission: string, on: 'object' | 'list', decided = permission): AccessRule => {
    const policed = policy === undefined ? undefined : { policy, kind: kind.name, permission: decided, on };
    if (!isShareable) return { principals: new Set(), entries: undefined, authenticated: true, policed };
    const entries = inheritance.rule(grantor, permission, kind.name);
    const principals = new Set(entries.settingNames.flatMap(settingPrincipals));
    const rule: AccessRule = { principals, entries, authenticated: false, policed };
    // At the root settings decide who may create. Below shared objects, entries on these decide.
    const grantsSoleOwner = (grantor !== '' || decided !== 'create') && isOwnedFromRoot(kind, parent);
    return owned.length === 0 ? rule : { ...rule, owned, grantsSoleOwner };
  };
  const above = kind.parent ?? '';
  const readList = ruleOn(above, 'read', 'list');
  const writeList = ruleOn(above, 'write', 'list');
  const added = new Map<string, AccessRule>();
  return {
    name: kind.name,
    plural: kind.plural ?? `${kind.name}s`,
    declaration: kind,
    parent,
    owned,
    attributes: compileAttributes(kind),
    ids: chooseIds(kind, settings),
    idName: `${kind.name}_id`,
    permissions: kind.permissions?.names ?? [],
    isShareable,
    indexes: compileIndexes(kind),
    traits: { ...kind.traits, hiddenFields: kind.hiddenFields },
    cacheSeconds: kind.cacheSeconds ?? cacheSecondsOf(kind, settings),
    uriPath,
    uriTemplate,
    settingPrincipals,
    address: compileUriTemplate(objectTemplate(kind.name, kind.path)),
    listUri: compileUriTemplate(uriPath),
    objectUri: compileObjectUri(uriTemplate),
    listKey: isShareable
      ? compileListKey(kind, parent, ownList)
      : (_ids, caller) => ({ kind: kind.name, parent: caller.userId ?? '' }),
    rule(permission) {
      const rule = added.get(permission) ?? ruleOn(kind.name, permission, 'object');
      // Permission names come from code and never from requests, so the map stays small.
      added.set(permission, rule);
      return rule;
    },
    rules: {
      readList: kind.ownerOf === undefined ? readList : { ...readList, principals: union(readList, writeList) },
      writeList,
      create: ruleOn(above, `${kind.name}:create`, 'list', 'create'),
      read: ruleOn(kind.name, kind.readPermission ?? 'read', 'object', 'read'),
      write: ruleOn(kind.name, 'write', 'object'),
    },
  };
}

function union(one: AccessRule, other: AccessRule): ReadonlySet<Principal> {
  return new Set([...one.principals, ...other.principals]);
}

/** 0 means the same as no setting: responses are not cached, and get no further cache headers. */
function cacheSecondsOf({ name }: ResourceKind, settings: KindSettings): number | undefined {
  return settings.cacheSeconds(`${name}_cache_expires_seconds`) || undefined;
}

function chooseIds(kind: ResourceKind, settings: KindSettings): IdRule {
  const custom = kind.customIds;
  const setting =
    settings.text(`${kind.name}_id_generator`) ?? kind.idGenerator ?? settings.text('id_generator') ?? 'UUID4';
  const generator = custom ?? settings.idGenerators?.get(setting) ?? findIdGenerator(setting);
  if (generator === undefined) {
    const known = ['UUID4', 'NameGenerator', 'RelaxedUUID', ...(settings.idGenerators?.keys() ?? [])];
    throw new Error(
      `${kind.name}_id_generator: unknown id generator ${setting}; use ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`,
    );
  }
  return createIdRule(setting, generator, settings.maxIdLength);
}

/** Returns whether the outermost list in the path is an owned list. */
function isOwnedFromRoot(kind: ResourceKind, parent: CompiledKind | undefined): boolean {
  let root = parent;
  while (root?.parent !== undefined) root = root.parent;
  return (root?.declaration ?? kind).parentOf !== undefined;
}

/** Returns the principals of a setting, else the defaults of the kind. Owned lists are open to their owners by default. */
function compileSettingPrincipals(
  { name, parentOf, defaultPrincipals = parentOf === undefined ? {} : { create: [AUTHENTICATED] } }: ResourceKind,
  settings: KindSettings,
): (setting: string) => readonly Principal[] {
  const defaults = new Map(
    Object.entries(defaultPrincipals).map(([permission, principals]) => [
      settingName(name, permission),
      toPrincipals(principals),
    ]),
  );
  return (setting) => {
    const byDefault = defaults.get(setting);
    return byDefault !== undefined && settings.text(setting) === undefined
      ? byDefault
      : toPrincipals(settings.list(setting));
  };
}

function compileListKey(
  { name: kind, listFolder: folder }: ResourceKind,
  parent: CompiledKind | undefined,
  owned: OwnedList | undefined,
): (ids: PathIds) => ListKey {
  if (owned !== undefined) {
    const { ownerName } = owned;
    if (parent === undefined) return (ids) => ({ kind, parent: listFolder(ids[ownerName] ?? '') });
    return (ids) => ({ kind, parent: listFolder(`${parent.objectUri(ids)}/${ids[ownerName] ?? ''}`) });
  }
  if (parent === undefined) {
    const key: ListKey = { kind, parent: '' };
    return () => key;
  }
  if (folder === undefined) return (ids) => ({ kind, parent: parent.objectUri(ids) });
  return (ids) => ({ kind, parent: listFolder(`${parent.objectUri(ids)}/${folder}`) });
}
