// The changes of entries and memberships that a unit of work has buffered, in their order. They are operations, not
// results: the server applies them to its state at the commit, and reads of the unit apply them to what they have read.
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';

export type EntryChange =
  | {
      readonly kind: 'grant';
      readonly objectId: ObjectUri;
      readonly permission: string;
      readonly principals: readonly Principal[];
    }
  | {
      readonly kind: 'revoke';
      readonly objectId: ObjectUri;
      readonly permission: string;
      readonly principal: Principal;
    }
  | { readonly kind: 'replace'; readonly objectId: ObjectUri; readonly permissions: ObjectPermissions }
  | { readonly kind: 'clear'; readonly objectId: ObjectUri }
  | { readonly kind: 'clearBelow'; readonly uri: ObjectUri }
  | { readonly kind: 'withdraw'; readonly principal: Principal }
  | { readonly kind: 'clearAll' };

export type MembershipChange =
  | { readonly kind: 'admit' | 'expel'; readonly userId: Principal; readonly principal: Principal }
  | { readonly kind: 'expelAll'; readonly principal: Principal }
  | { readonly kind: 'expelBelow'; readonly prefix: string }
  | { readonly kind: 'clearMemberships' };

/** permission → principals, of one object. */
export type Entries = ReadonlyMap<string, ReadonlySet<Principal>>;

export class PermissionLog {
  readonly entries: EntryChange[] = [];
  readonly memberships: MembershipChange[] = [];

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.memberships.length === 0;
  }

  /** Returns the objects to which changes add entries. */
  granted(): ReadonlySet<ObjectUri> {
    const ids = new Set<ObjectUri>();
    for (const change of this.entries)
      if (change.kind === 'grant' || change.kind === 'replace') ids.add(change.objectId);
    return ids;
  }

  /** Returns the users to whom changes give principals. */
  admitted(): ReadonlySet<Principal> {
    return new Set(this.memberships.flatMap((change) => (change.kind === 'admit' ? [change.userId] : [])));
  }

  /** Returns the entries of an object after the changes. */
  entriesAfter(objectId: ObjectUri, stored: Entries): Entries {
    if (this.entries.length === 0) return stored;
    const entries = new Map([...stored].map(([permission, principals]) => [permission, new Set(principals)] as const));
    for (const change of this.entries) applyChange(change, objectId, entries);
    for (const [permission, principals] of entries) if (principals.size === 0) entries.delete(permission);
    return entries;
  }

  /** Returns the principals of a user after the changes. */
  principalsAfter(userId: Principal, stored: readonly Principal[]): ReadonlySet<Principal> {
    const principals = new Set(stored);
    for (const change of this.memberships) {
      switch (change.kind) {
        case 'admit':
          if (change.userId === userId) principals.add(change.principal);
          break;
        case 'expel':
          if (change.userId === userId) principals.delete(change.principal);
          break;
        case 'expelAll':
          principals.delete(change.principal);
          break;
        case 'expelBelow':
          for (const principal of principals) if (principal.startsWith(change.prefix)) principals.delete(principal);
          break;
        case 'clearMemberships':
          principals.clear();
          break;
      }
    }
    return principals;
  }
}

/** Parses the stored entries of an object. */
export function parseEntries(text: string | null | undefined): Entries {
  if (text === null || text === undefined) return new Map();
  const entries = JSON.parse(text) as ObjectPermissions;
  return new Map(Object.entries(entries).map(([permission, principals]) => [permission, new Set(principals)]));
}

function applyChange(change: EntryChange, objectId: ObjectUri, entries: Map<string, Set<Principal>>): void {
  switch (change.kind) {
    case 'grant': {
      if (change.objectId !== objectId) return;
      const known = entries.get(change.permission) ?? new Set();
      for (const principal of change.principals) known.add(principal);
      entries.set(change.permission, known);
      return;
    }
    case 'revoke':
      if (change.objectId === objectId) entries.get(change.permission)?.delete(change.principal);
      return;
    case 'replace':
      if (change.objectId !== objectId) return;
      for (const [permission, principals] of Object.entries(change.permissions)) {
        entries.set(permission, new Set(principals));
      }
      return;
    case 'clear':
      if (change.objectId === objectId) entries.clear();
      return;
    case 'clearBelow':
      if (objectId.startsWith(`${change.uri}/`)) entries.clear();
      return;
    case 'withdraw':
      for (const principals of entries.values()) principals.delete(change.principal);
      return;
    case 'clearAll':
      entries.clear();
  }
}
