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
  if (first === undefined || !context.session.hears(kind.name, first.action)) return;
  const newest = changes.reduce((highest, change) => Math.max(highest, change.new.lastModified), clock ?? 0);
  const { action } = first;
  const { path, ids, request, caller } = context;
  const { userId } = caller;
  context.session.events.add({ action, kind: kind.name, list, timestamp: newest, path, ids, userId, request, changes });
}

/** Queues the event of a read, for those who want to know; mostly nobody does, and nothing has to be put together. */
export function announceRead(scope: Scope, entries: readonly StoredEntry[], clock?: number): Promise<void> | undefined {
  return scope.context.session.hears(scope.kind.name, 'read') ? queueRead(scope, entries, clock) : undefined;
}

async function queueRead(scope: Scope, entries: readonly StoredEntry[], clock: number | undefined): Promise<void> {
  const { kind, context, list } = scope;
  const { session, path, ids, request, caller } = context;
  const timestamp = clock ?? (await session.reader.storage.resourceTimestamp(list)) ?? 0;
  const { userId } = caller;
  session.events.add({ action: 'read', kind: kind.name, list, timestamp, path, ids, userId, request, entries });
}
