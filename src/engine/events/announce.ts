// From what a verb has done to the event that tells of it.
import type { StoredEntry } from '../../core/objects/stored.ts';
import type { Change } from '../kind.ts';
import type { Scope } from '../scope.ts';

/**
 * Queues the event of changes to one list, all with the same action.
 *
 * @param clock of the list before the changes, as far as known
 */
export function announceChanges(scope: Scope, clock: number | undefined, changes: readonly Change[]): void {
  const { kind, context, list } = scope;
  const [first] = changes;
  if (first === undefined || !context.unit.hears(kind.name, first.action)) return;
  const newest = changes.reduce((highest, change) => Math.max(highest, change.new.lastModified), clock ?? 0);
  const { action } = first;
  const { path, ids, request, caller } = context;
  const { userId } = caller;
  context.unit.events.add({ action, kind: kind.name, list, timestamp: newest, path, ids, userId, request, changes });
}

/** Queues the event of a read, for those who want to know; mostly nobody does, and nothing has to be put together. */
export function announceRead(scope: Scope, entries: readonly StoredEntry[], clock?: number): Promise<void> | undefined {
  return scope.context.unit.hears(scope.kind.name, 'read') ? queueRead(scope, entries, clock) : undefined;
}

async function queueRead(scope: Scope, entries: readonly StoredEntry[], clock: number | undefined): Promise<void> {
  const { kind, context, list } = scope;
  const { unit, path, ids, request, caller } = context;
  const timestamp = clock ?? (await unit.reader.storage.resourceTimestamp(list)) ?? 0;
  const { userId } = caller;
  unit.events.add({ action: 'read', kind: kind.name, list, timestamp, path, ids, userId, request, entries });
}
