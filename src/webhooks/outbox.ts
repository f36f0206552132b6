// What waits to be delivered, and what could not be: objects of kinds of their own in the storage, written in the unit
// of work of what they tell about. Each list of the service has an outbox of its own for each webhook, so that writers
// of different lists do not wait for each other, and what happened in one list is delivered in its order.
import { randomUUID } from 'node:crypto';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatAttributes, type ListKey, type StoredObject } from '../core/objects/stored.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import type { StorageReader, StorageWriter } from '../contracts/storage.ts';

/** One delivery as it is kept. */
export interface Delivery {
  readonly id: string;
  readonly body: string;
  /** Milliseconds since 1970 UTC, as all times here. */
  readonly created: number;
  readonly attempts: number;
  /** Not to be attempted before. */
  readonly due: number;
  /** Until when `holder` may deliver it, and nobody else. */
  readonly heldUntil: number;
  /** Of the attempt that holds it; `''`: none. */
  readonly holder: string;
  /** Why the last attempt failed; `''`: there was none. */
  readonly reason: string;
}

const pendingPrefix = '__webhook__';
const deadPrefix = '__webhook_dead__';

/** Kind of what waits to be delivered to a webhook. */
export function pendingKind(name: string): string {
  return pendingPrefix + name;
}

/** Kind of what could not be delivered. */
export function deadKind(name: string): string {
  return deadPrefix + name;
}

/** Parent of the outbox of a list. No parent of anything else lies above it, so that no cascade reaches it. */
export function outboxParent({ kind, parent }: ListKey): string {
  return `${kind}:${parent}`;
}

/** Adds deliveries to the end of an outbox. */
export async function appendDeliveries(
  storage: StorageWriter,
  list: ListKey,
  { bodies, now }: { readonly bodies: readonly string[]; readonly now: number },
): Promise<void> {
  for (const body of bodies) {
    const delivery = { body, created: now, attempts: 0, due: 0, heldUntil: 0, holder: '', reason: '' };
    await storage.create(list, randomUUID(), formatAttributes(delivery));
  }
}

/** The first entry of an outbox. */
export async function readFirst(storage: StorageReader, list: ListKey): Promise<StoredObject | undefined> {
  const sort = [{ field: lastModifiedField, direction: 'ascending' }] as const;
  const { entries } = await storage.listAll(list, { filters: [], sort, limit: 1 });
  return entries[0] as StoredObject | undefined;
}

/** The entry that a stored object holds. */
export function parseDelivery({ id, attributes }: StoredObject): Delivery {
  const text = (name: string): string => asText(attributes[name]);
  const time = (name: string): number => Number(attributes[name] ?? 0);
  return {
    id,
    body: text('body'),
    created: time('created'),
    attempts: time('attempts'),
    due: time('due'),
    heldUntil: time('heldUntil'),
    holder: text('holder'),
    reason: text('reason'),
  };
}

function asText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Changes an entry in its place: the timestamp it has is kept, or stays the last one. */
export async function updateDelivery(
  storage: StorageWriter,
  list: ListKey,
  stored: StoredObject,
  changes: Partial<Omit<Delivery, 'id'>>,
): Promise<void> {
  const attributes: JsonObject = { ...stored.attributes, ...changes };
  await storage.update(list, stored.id, formatAttributes(attributes), stored.lastModified);
}

/** Takes an entry out for good; nobody follows these lists, so no tombstone is needed. */
export async function removeDelivery(storage: StorageWriter, list: ListKey, id: string): Promise<void> {
  await storage.delete(list, id, { keepTombstone: false });
}

/**
 * Puts an entry among those that could not be delivered, of which the newest are kept.
 *
 * @returns how many there are of this list
 */
export async function moveToDeadLetters(
  storage: StorageWriter,
  dead: ListKey,
  stored: StoredObject,
  { reason, maxDeadLetters }: { readonly reason: string; readonly maxDeadLetters: number },
): Promise<number> {
  const attributes: JsonObject = { ...stored.attributes, holder: '', heldUntil: 0, reason };
  await storage.update(dead, stored.id, formatAttributes(attributes));
  await storage.trimObjects(dead, { filters: [] }, maxDeadLetters);
  return storage.countAll(dead, { filters: [] });
}
