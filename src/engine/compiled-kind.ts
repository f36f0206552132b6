// A declared kind made ready to serve: paths turned into functions, permissions into rules, the id generator chosen.
// Done once at start, so that a request looks nothing up by name.
import { findIdGenerator, type IdGenerator } from '../core/objects/ids.ts';
import { createIdRule, type IdRule } from '../core/objects/object-id.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { ListKey } from '../core/objects/stored.ts';
import { compileUriTemplate, objectTemplate } from '../core/objects/uris.ts';
import { createInheritance, type Inheritance } from '../core/permissions/inheritance.ts';
import type { ListTraits } from '../core/query/resolve.ts';
import type { AccessRule, AuthorizationPolicy } from './access.ts';
import type { Caller } from './caller.ts';
import type { ResourceKind } from './kind.ts';

/** How settings reach the kinds; answers are read once. */
export interface KindSettings {
  /** Longest id accepted, in characters; 0 means unlimited. */
  readonly maxIdLength: number;
  /** Generators beside the built-in ones, by name. */
  readonly idGenerators?: ReadonlyMap<string, IdGenerator>;
  /** Has the last word on every access; absent: settings and entries decide. */
  readonly authorization?: AuthorizationPolicy | undefined;
  /** Value of a setting by its flat name, or `undefined`. */
  readonly text: (key: string) => string | undefined;
  readonly list: (key: string) => readonly string[];
  /** Value of a setting such as `record_cache_expires_seconds`, or `undefined`. */
  readonly cacheSeconds: (key: string) => number | undefined;
  readonly flag: (key: string, byDefault: boolean) => boolean;
}

export interface CompiledKind {
  readonly name: string;
  /** What several are called. */
  readonly plural: string;
  readonly declaration: ResourceKind;
  readonly parent: CompiledKind | undefined;
  readonly ids: IdRule;
  /** Name of its id in paths, `record_id`. */
  readonly idName: string;
  /** Storable permission names; empty for user resources. */
  readonly permissions: readonly string[];
  readonly isShareable: boolean;
  /** What queries of its lists may ask for. */
  readonly traits: ListTraits;
  /** Seconds for which anonymous answers may be cached, as in the declaration; a number where a setting alone decides. */
  readonly cacheSeconds: ResourceKind['cacheSeconds'] | number;
  /** URI of the list, `/buckets/food/groups`. */
  readonly listUri: (ids: PathIds) => string;
  /** URI of the object whose id is among the ids. */
  readonly objectUri: (ids: PathIds) => string;
  readonly listKey: (ids: PathIds, caller: Caller) => ListKey;
  /** The rule for any permission on an object of the kind, such as one that a plugin has added. */
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
  const inheritance = createInheritance(kinds.filter(({ flavour }) => flavour === 'shareable'));
  const compiled = new Map<string, CompiledKind>();
  for (const kind of kinds) {
    if (compiled.has(kind.name)) throw new Error(`The resource kind ${kind.name} is declared twice.`);
    compiled.set(kind.name, compileKind(kind, compiled, inheritance, settings));
  }
  return compiled;
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
  const policy = settings.authorization;
  /** @param asked how a policy is told what the rule is about */
  const ruleOn = (grantor: string, permission: string, on: 'object' | 'list', asked = permission): AccessRule => {
    const policed = policy === undefined ? undefined : { policy, kind: kind.name, permission: asked, on };
    if (!isShareable) return { principals: new Set(), entries: undefined, authenticated: true, policed };
    const entries = inheritance.rule(grantor, permission, kind.name);
    const principals = entries.settingNames.flatMap((name) => settings.list(name));
    return { principals: new Set(principals), entries, authenticated: false, policed };
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
    ids: chooseIds(kind, settings),
    idName: `${kind.name}_id`,
    permissions: kind.permissions?.names ?? [],
    isShareable,
    traits: { ...kind.traits, hiddenFields: kind.hiddenFields },
    cacheSeconds: kind.cacheSeconds ?? cacheSecondsOf(kind, settings),
    listUri: compileUriTemplate(kind.path),
    objectUri: compileUriTemplate(objectTemplate(kind.name, kind.path)),
    listKey: isShareable
      ? compileListKey(kind, parent)
      : (_ids, caller) => ({ kind: kind.name, parent: caller.userId ?? '' }),
    rule(permission) {
      const rule = added.get(permission) ?? ruleOn(kind.name, permission, 'object');
      // Names come from code, never from requests, so the map stays small.
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

function union(one: AccessRule, other: AccessRule): ReadonlySet<string> {
  return new Set([...one.principals, ...other.principals]);
}

/** 0 has the meaning of no setting: nothing is cached, and no more is said about it. */
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
      `${kind.name}_id_generator: there is no id generator called ${setting}; use ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`,
    );
  }
  return createIdRule(setting, generator, settings.maxIdLength);
}

function compileListKey(
  { name: kind, listFolder }: ResourceKind,
  parent: CompiledKind | undefined,
): (ids: PathIds) => ListKey {
  if (parent === undefined) {
    const key: ListKey = { kind, parent: '' };
    return () => key;
  }
  const folder = listFolder === undefined ? '' : `/${listFolder}`;
  return (ids) => ({ kind, parent: parent.objectUri(ids) + folder });
}
