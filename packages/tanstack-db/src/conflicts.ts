// What happens when another client has changed a record that a mutation is based on.
import { deepEquals } from '@tanstack/db';
import type { Incoming } from './copy.ts';

/** A mutation that the service has refused because the record has changed. */
export interface Conflict<T extends object = Record<string, unknown>> {
  readonly type: 'insert' | 'update' | 'delete';
  readonly id: string;
  /** The row that the mutation is based on; absent for inserts. */
  readonly base: T | undefined;
  /** The row that the mutation wants; absent for deletions. */
  readonly local: T | undefined;
  /** The row that the service has; absent if it was deleted. */
  readonly server: T | undefined;
}

/** How conflicts end. */
export type Resolution =
  /** The state of the service stays, and the mutation has no effect. */
  | 'server'
  /** The record becomes what the mutation wants, as a whole. Deleted records are created again. */
  | 'client'
  /**
   * Attributes that the mutation changes get its values; all others keep those of the service. A record that was deleted
   * stays deleted, and one that was changed is not deleted.
   */
  | 'merge'
  /** The mutation fails with a `ConflictError` and is rolled back. */
  | 'fail';

/** A resolution, or a function that returns one, or returns the row to write. May be asynchronous, such as a dialog. */
export type ConflictStrategy<T extends object> =
  | Resolution
  | ((conflict: Conflict<T>) => Resolution | T | Promise<Resolution | T>);

/** A conflict that was not resolved. The mutation was rolled back. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  readonly conflict: Conflict;

  constructor(conflict: Conflict, reason = 'has changed') {
    super(`The record ${JSON.stringify(conflict.id)} ${reason}. Read it and repeat the change.`);
    this.conflict = conflict;
  }
}

const added = /^(?:last_modified|\$(?:synced|origin|key|collectionId|hasPendingWrites))$/;

/** Attributes as they are stored, without those that the service or TanStack DB add. */
export function attributesOf(stored: object): Record<string, unknown> {
  const entries = Object.entries(stored).filter(([name, value]) => value !== undefined && !added.test(name));
  return Object.fromEntries(entries);
}

/** Names of the attributes that differ. */
export interface Difference {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Compares attributes as JSON. */
export function differenceOf(before: Record<string, unknown>, after: Record<string, unknown>): Difference {
  const changed = Object.keys(after).filter(
    (name) => !Object.hasOwn(before, name) || !isSame(before[name], after[name]),
  );
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return { changed, removed };
}

/** Whether a stored object has these attributes and no others. */
export function isUnchanged(attributes: Record<string, unknown>, server: Incoming): boolean {
  const { changed, removed } = differenceOf(attributes, attributesOf(server));
  const states = [attributes, server];
  // The service maintains the timestamp of the schema in records that it validates.
  const isMaintained = states.every(({ schema = 0 }) => typeof schema === 'number');
  return [...changed, ...removed].every((name) => name === 'schema' && isMaintained);
}

/** Compares values as the service receives them. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || deepEquals(asJson(a), asJson(b));
}

function asJson(value: unknown): unknown {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as unknown);
}
