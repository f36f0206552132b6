// Results of permission reads, made from rows. SQLite and PostgreSQL share them.
import type { ObjectPermissions, WalkPage } from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipal, type Principal } from '../../core/permissions/principals.ts';

/** Object id → permissions. */
export type AccessibleObjects = ReadonlyMap<ObjectUri, ReadonlySet<string>>;

/** Adds a permission on an object to the objects that were found. */
export function addAccessible(found: Map<ObjectUri, Set<string>>, objectId: ObjectUri, permission: string): void {
  const permissions = found.get(objectId);
  if (permissions === undefined) found.set(objectId, new Set([permission]));
  else permissions.add(permission);
}

/** Groups rows of permission and principal: all of them, or those of the wanted permissions. */
export function groupEntries(
  rows: readonly (readonly (string | null)[])[],
  wanted: readonly string[] | undefined,
): ObjectPermissions {
  const entries = new Map<string, Principal[]>();
  for (const [permission, principal] of rows) {
    if (wanted !== undefined && !wanted.includes(permission!)) continue;
    const principals = entries.get(permission!);
    if (principals === undefined) entries.set(permission!, [toPrincipal(principal!)]);
    else principals.push(toPrincipal(principal!));
  }
  return Object.fromEntries(entries);
}

/** Returns a page of a walk that continues after the name of the last item. Fewer than the limit means that it has ended. */
export function walkPage<T>(found: readonly T[], limit: number, nameOf: (last: T) => string): WalkPage<T> {
  const last = found.at(-1);
  return { found, next: last === undefined || found.length < limit ? undefined : nameOf(last) };
}
