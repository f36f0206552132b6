// Helpers of permission cases: reads outside units of work, writes each in a unit of its own, sorted results.
import type { PermissionCase, PermissionContext } from '../contract-case.ts';
import { inUnit } from '../unit-of-work.ts';
import type { ObjectPermissions, PermissionReader, PermissionWriter } from '../plain-contracts.ts';

/** Reads outside units of work, and writes each in a unit of its own. */
export interface PermissionProbe {
  readonly reader: PermissionReader;
  readonly write: (work: (writer: PermissionWriter) => Promise<unknown>) => Promise<void>;
  /** Principals of a user, sorted. */
  readonly principals: (userId: string) => Promise<readonly string[]>;
  /** Entries of an object with sorted principals. */
  readonly entries: (objectId: string) => Promise<ObjectPermissions>;
}

/** Creates a case whose body works with a probe. */
export function permissionCase(name: string, body: (probe: PermissionProbe) => Promise<void>): PermissionCase {
  return { name, run: (context) => body(createProbe(context)) };
}

function createProbe({ database, permission }: PermissionContext): PermissionProbe {
  const { reader } = permission;
  return {
    reader,
    async write(work) {
      await inUnit(database, (transaction) => work(permission.writer(transaction)));
    },
    async principals(userId) {
      return [...(await reader.getUserPrincipals(userId))].toSorted();
    },
    async entries(objectId) {
      return sortedEntries(await reader.getObjectPermissions(objectId));
    },
  };
}

function sortedEntries(entries: ObjectPermissions): ObjectPermissions {
  return Object.fromEntries(Object.entries(entries).map(([name, principals]) => [name, principals.toSorted()]));
}
