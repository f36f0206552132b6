// Which access-control entries grant a permission on an object. Kinds declare it as a table; here the table becomes
// rules that only have to join URIs when a request arrives. See
// docs/reference/http-api/permissions.md.
import { compilePartialTemplate, compileUriTemplate, objectTemplate, type UriIds } from '../objects/uris.ts';

/** An entry of the object of that kind in the same path: `{kind: 'bucket', entry: 'write'}`. */
export interface GrantingEntry {
  readonly kind: string;
  readonly entry: string;
}

export interface PermissionDeclaration {
  /** Permission names an object of the kind can store. */
  readonly names: readonly string[];
  /** Permission asked on an object of the kind → the entries any of which grants it. */
  readonly granted: Readonly<Record<string, readonly GrantingEntry[]>>;
}

/** What inheritance needs to know of a kind. */
export interface PermissionKind {
  readonly name: string;
  /** Path of its lists, `/buckets/{bucket_id}/groups`. */
  readonly path: string;
  readonly permissions?: PermissionDeclaration;
}

/** An entry on one object. */
export interface BoundEntry {
  readonly objectId: string;
  readonly permission: string;
}

/** An entry on all objects of one list; the last segment of the pattern is `*`. */
export interface EntryPattern {
  readonly pattern: string;
  readonly permission: string;
}

/** How one permission is granted on objects of one kind, for the endpoints of one kind. */
export interface PermissionRule {
  /** Settings that grant it to the principals they name, without duplicates. */
  readonly settingNames: readonly string[];
  /**
   * The entries that grant it on the object with these ids in its path; empty where only settings can. Objects whose id is
   * missing have no entries.
   */
  bind(ids: UriIds): readonly BoundEntry[];
  /**
   * The entries on individual objects of the list with these ids: those of the kind itself, inherited ones left
   * out. The id of the object is not needed.
   */
  bindList(ids: UriIds): readonly EntryPattern[];
}

export interface Inheritance {
  /**
   * The rule for a permission on objects of a kind. Unknown kinds (`''` for the root) and permissions that no entry
   * grants yield a rule of settings only.
   *
   * @param endpointKind kind of the endpoint being called, which names the settings; default the kind itself
   */
  rule(kind: string, permission: string, endpointKind?: string): PermissionRule;
  /** Permission names that objects of the kind can store; empty for unknown kinds. */
  storableNames(kind: string): ReadonlySet<string>;
}

/**
 * Compiles the declarations of all kinds.
 *
 * @throws Error when a declaration mentions a kind that is not in its own path, or an entry that kind cannot store
 */
export function createInheritance(kinds: readonly PermissionKind[]): Inheritance {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]));
  const names = new Map(kinds.map((kind) => [kind.name, new Set(kind.permissions?.names)]));
  const rules = new Map<string, PermissionRule>();
  for (const kind of kinds) {
    for (const entries of Object.values(kind.permissions?.granted ?? {}))
      requireReachable(kind, entries, byName, names);
  }
  const none: ReadonlySet<string> = new Set();
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
    storableNames: (kind) => names.get(kind) ?? none,
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
      throw new Error(`permissions of ${kind.name}: no ${grantor} stands in the path ${kind.path}`);
    }
    if (names.get(grantor)?.has(entry) !== true) {
      throw new Error(`permissions of ${kind.name}: ${grantor} objects cannot store ${entry}`);
    }
  }
}

function template(kind: PermissionKind): string {
  return objectTemplate(kind.name, kind.path);
}

/** Name of the setting that stands for an entry at the endpoints of a kind. */
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
    formatUri: compilePartialTemplate(template(byName.get(name)!)),
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
