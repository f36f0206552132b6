// Creates events from the changes and reads of verbs.
import type { StoredEntry } from '../../core/objects/stored.ts';
import type { Change } from './event.ts';
import type { Scope } from '../scope.ts';

/**
 * Queues the event of changes to one list, all with the same action, if a subscriber wants it.
 *
 * @param clock timestamp of the list before the changes, if known
 */
export function announceChanges(scope: Scope<unknown>, clock: number | undefined, changes: readonly Change[]): void {
  const { kind, context, list } = scope;
  const [first] = changes;
  if (first === undefined || !context.unit.hasSubscribers(kind.name, first.action)) return;
  const newest = changes.reduce((highest, change) => Math.max(highest, change.new.lastModified), clock ?? 0);
  const { action } = first;
  const { path, ids, request, caller } = context;
  const { userId } = caller;
  context.unit.events.add({ action, kind: kind.name, list, timestamp: newest, path, ids, userId, request, changes });
}

/** Queues the event of a read, if a subscriber wants it; returns `undefined` otherwise. */
export function announceRead(
  scope: Scope<unknown>,
  entries: readonly StoredEntry[],
  clock?: number,
): Promise<void> | undefined {
  return scope.context.unit.hasSubscribers(scope.kind.name, 'read') ? queueRead(scope, entries, clock) : undefined;
}

async function queueRead(
  scope: Scope<unknown>,
  entries: readonly StoredEntry[],
  clock: number | undefined,
): Promise<void> {
  const { kind, context, list } = scope;
  const { unit, path, ids, request, caller } = context;
  const timestamp = clock ?? (await unit.reader.storage.resourceTimestamp(list)) ?? 0;
  const { userId } = caller;
  unit.events.add({ action: 'read', kind: kind.name, list, timestamp, path, ids, userId, request, entries });
}
