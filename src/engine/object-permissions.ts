// How requests change the permissions of an object, as pure functions from stored and sent entries to new ones.
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { SentPermissions } from './envelope.ts';

/** Entries after a creation: those sent. */
export function createdPermissions(sent: SentPermissions | undefined): ObjectPermissions {
  return changedPermissions({}, sent ?? {}, 'ignore');
}

/** Entries after a replacement: as sent, those not named emptied; nothing sent (or an empty object) changes nothing. */
export function replacedPermissions(stored: ObjectPermissions, sent: SentPermissions | undefined): ObjectPermissions {
  if (sent === undefined || Object.keys(sent).length === 0) return stored;
  return createdPermissions(sent);
}

/** Entries after a patch: those named are replaced; `null` is ignored or empties the entry, as the format says. */
export function changedPermissions(
  stored: ObjectPermissions,
  sent: SentPermissions,
  onNull: 'ignore' | 'remove',
): ObjectPermissions {
  const result: Record<string, readonly string[]> = { ...stored };
  for (const [name, principals] of Object.entries(sent)) {
    if (principals === null) {
      if (onNull === 'remove') delete result[name];
    } else if (principals.length === 0) delete result[name];
    else result[name] = principals;
  }
  return result;
}

/** The entries with the principal among the writers. */
export function withWriter(permissions: ObjectPermissions, principal: string): ObjectPermissions {
  const writers = permissions['write'] ?? [];
  return writers.includes(principal) ? permissions : { ...permissions, write: [...writers, principal] };
}

/** What differs between two states of the entries of an object; entries that are gone are empty. */
export function permissionChanges(before: ObjectPermissions, after: ObjectPermissions): ObjectPermissions {
  const changes: Record<string, readonly string[]> = {};
  for (const [name, principals] of Object.entries(after)) if (before[name] !== principals) changes[name] = principals;
  for (const name of Object.keys(before)) if (after[name] === undefined) changes[name] = [];
  return changes;
}
