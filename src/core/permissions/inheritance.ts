// The access-control entries that grant a permission on an object. Kinds declare a table; it is compiled to rules that only
// concatenate URIs at request time. See docs/reference/http-api/permissions.md.
import { compilePartialUri, compileUriTemplate, objectTemplate, type ObjectUri, type UriIds } from '../objects/uris.ts';

/** An entry on the object of that kind in the same path: `{kind: 'bucket', entry: 'write'}`. */
export interface GrantingEntry {
  readonly kind: string;
  readonly entry: string;
}

export interface PermissionDeclaration {
  /** Permission names that an object of the kind can store. */
  readonly names: readonly string[];
  /** Requested permission on an object of the kind → the entries any of which grants it. */
  readonly granted: Readonly<Record<string, readonly GrantingEntry[]>>;
}

/** The part of a kind that inheritance uses. */
export interface PermissionKind {
  readonly name: string;
  /** Path of its lists, `/buckets/{bucket_id}/groups`. */
  readonly path: string;
  readonly permissions?: PermissionDeclaration;
}

/** An entry on one object. */
export interface BoundEntry {
  readonly objectId: ObjectUri;
  readonly permission: string;
}

/** An entry on all objects of one list; the last segment of the pattern is `*`. */
export interface EntryPattern {
  readonly pattern: string;
  readonly permission: string;
}

/** The ways to be granted one permission on objects of one kind, for the endpoints of one kind. */
export interface PermissionRule {
  /** Settings that grant the permission to the principals they list, without duplicates. */
  readonly settingNames: readonly string[];
  /**
   * Returns the entries that grant it on the object with these ids in its path; none when only settings can grant it. Objects
   * whose id is missing have no entries.
   */
  bind(ids: UriIds): readonly BoundEntry[];
  /**
   * Returns the entries on individual objects of the list with these ids, without inherited ones. The id of the object is not
   * needed.
   */
  bindList(ids: UriIds): readonly EntryPattern[];
}

export interface Inheritance {
  /**
   * Returns the rule for a permission on objects of a kind. Unknown kinds (`''` for the root) and permissions that no entry
   * grants have a rule with settings only.
   *
   * @param endpointKind kind of the called endpoint, which names the settings; default: the kind itself
   */
  rule(kind: string, permission: string, endpointKind?: string): PermissionRule;
}

/**
 * Compiles the declarations of all kinds.
 *
 * @throws Error when a declaration names a kind outside its path, or an entry that the kind cannot store
 */
export function createInheritance(kinds: readonly PermissionKind[]): Inheritance {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const names = new Map(kinds.map((kind) => [kind.name, new Set(kind.permissions?.names)]));
  const rules = new Map<string, PermissionRule>();
  for (const kind of kinds) {
    for (const entries of Object.values(kind.permissions?.granted ?? {}))
      requireReachable(kind, entries, byName, names);
  }
  return {
    rule(kind, permission, endpointKind = kind) {
      const key = `${endpointKind} ${kind} ${permission}`;
      let rule = rules.get(key);
      if (rule === undefined) {
        rule = compileRule(byName, byName.get(kind), permission, endpointKind);
        // Names come from declarations and from code, never from requests, so the map stays small.
        rules.set(key, rule);
      }
      return rule;
    },
  };
}

function requireReachable(
  kind: PermissionKind,
  entries: readonly GrantingEntry[],
  byName: ReadonlyMap<string, PermissionKind>,
  names: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const { kind: grantor, entry } of entries) {
    const declared = byName.get(grantor);
    if (declared === undefined || !`${template(kind)}/`.startsWith(`${template(declared)}/`)) {
      throw new Error(`permissions of ${kind.name}: the path ${kind.path} contains no ${grantor}`);
    }
    if (names.get(grantor)?.has(entry) !== true) {
      throw new Error(`permissions of ${kind.name}: ${grantor} objects cannot store ${entry}`);
    }
  }
}

function template(kind: PermissionKind): string {
  return objectTemplate(kind.name, kind.path);
}

/** Returns the name of the setting for an entry at the endpoints of a kind. */
export function settingName(endpointKind: string, entry: string): string {
  const name = entry.startsWith(`${endpointKind}:`) ? entry.replaceAll(':', '_') : `${endpointKind}_${entry}`;
  return `${name}_principals`;
}

function compileRule(
  byName: ReadonlyMap<string, PermissionKind>,
  kind: PermissionKind | undefined,
  permission: string,
  endpointKind: string,
): PermissionRule {
  const granted = kind?.permissions?.granted;
  const entries = granted !== undefined && Object.hasOwn(granted, permission) ? granted[permission]! : [];
  if (kind === undefined || entries.length === 0) {
    return { settingNames: [settingName(endpointKind, permission)], bind: () => [], bindList: () => [] };
  }
  const grantors = [...new Set(entries.map((entry) => entry.kind))].map((name) => ({
    formatUri: compilePartialUri(template(byName.get(name)!)),
    permissions: entries.filter((entry) => entry.kind === name).map(({ entry }) => entry),
  }));
  const ownPermissions = entries.filter((entry) => entry.kind === kind.name).map(({ entry }) => entry);
  const formatListUri = compileUriTemplate(kind.path);
  return {
    settingNames: [...new Set(entries.map(({ entry }) => settingName(endpointKind, entry)))],
    bind(ids) {
      const bound: BoundEntry[] = [];
      for (const { formatUri, permissions } of grantors) {
        const objectId = formatUri(ids);
        if (objectId === undefined) continue;
        for (const name of permissions) bound.push({ objectId, permission: name });
      }
      return bound;
    },
    bindList(ids) {
      const pattern = `${formatListUri(ids)}/*`;
      return ownPermissions.map((name) => ({ pattern, permission: name }));
    },
  };
}
