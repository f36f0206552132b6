// Changes of the permissions of an object by requests: pure functions from stored and sent entries to new ones.
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { Principal } from '../core/permissions/principals.ts';
import type { SentPermissions } from './envelope.ts';

/** Returns the entries after a creation: those sent. */
export function createdPermissions(sent: SentPermissions | undefined): ObjectPermissions {
  return changedPermissions({}, sent ?? {}, 'ignore');
}

/** Returns the entries after a replacement: those sent and no others; the stored ones if none were sent. */
export function replacedPermissions(stored: ObjectPermissions, sent: SentPermissions | undefined): ObjectPermissions {
  if (sent === undefined || Object.keys(sent).length === 0) return stored;
  return createdPermissions(sent);
}

/** Returns the entries after a patch, which replaces those it names. `null` is ignored or removes the entry. */
export function changedPermissions(
  stored: ObjectPermissions,
  sent: SentPermissions,
  onNull: 'ignore' | 'remove',
): ObjectPermissions {
  const result: Record<string, readonly Principal[]> = { ...stored };
  for (const [name, principals] of Object.entries(sent)) {
    if (principals === null) {
      if (onNull === 'remove') delete result[name];
    } else if (principals.length === 0) delete result[name];
    else result[name] = principals;
  }
  return result;
}

/** Returns the entries with the principal added to `write`. */
export function withWriter(permissions: ObjectPermissions, principal: Principal): ObjectPermissions {
  const writers = permissions['write'] ?? [];
  return writers.includes(principal) ? permissions : { ...permissions, write: [...writers, principal] };
}

/** Returns the entries that differ between two states of an object; removed entries are empty. */
export function permissionChanges(before: ObjectPermissions, after: ObjectPermissions): ObjectPermissions {
  const changes: Record<string, readonly Principal[]> = {};
  for (const [name, principals] of Object.entries(after)) if (before[name] !== principals) changes[name] = principals;
  for (const name of Object.keys(before)) if (after[name] === undefined) changes[name] = [];
  return changes;
}
