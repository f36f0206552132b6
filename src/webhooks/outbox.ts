// Stored deliveries: pending ones and dead letters, as objects of their own kinds. They are written in the unit of work
// of their event. Each list of the service has its own outbox for each webhook, so that writers of different lists do
// not block each other, and the events of one list are delivered in order.
import { randomUUID } from 'node:crypto';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatAttributes, type ListKey, type StoredObject } from '../core/objects/stored.ts';
import { listFolder, type ListFolder } from '../core/objects/uris.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import type { StorageReader, StorageWriter } from '../contracts/storage.ts';

/** One stored delivery. */
export interface Delivery {
  readonly id: string;
  readonly body: string;
  /** Milliseconds since 1970 UTC, like all times here. */
  readonly created: number;
  readonly attempts: number;
  /** Earliest time of the next attempt. */
  readonly due: number;
  /** End of the lease of `holder`. */
  readonly heldUntil: number;
  /** Id of the attempt that holds the lease; `''` without a lease. */
  readonly holder: string;
  /** Error of the last attempt; `''` without attempts. */
  readonly reason: string;
}

const pendingPrefix = '__webhook__';
const deadPrefix = '__webhook_dead__';

/** Returns the kind of pending deliveries of a webhook. */
export function pendingKind(name: string): string {
  return pendingPrefix + name;
}

/** Returns the kind of dead letters of a webhook. */
export function deadKind(name: string): string {
  return deadPrefix + name;
}

/** Returns the parent of the outbox of a list. It is below no other parent, so that no cascade deletes it. */
export function outboxParent({ kind, parent }: ListKey): ListFolder {
  return listFolder(`${kind}:${parent}`);
}

/** Appends deliveries to an outbox. */
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

/** Returns the first delivery of an outbox. */
export async function readFirst(storage: StorageReader, list: ListKey): Promise<StoredObject | undefined> {
  const sort = [{ field: lastModifiedField, direction: 'ascending' }] as const;
  const { entries } = await storage.listAll(list, { filters: [], sort, limit: 1 });
  return entries[0] as StoredObject | undefined;
}

/** Parses a stored delivery. */
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

/** Changes a delivery and keeps its timestamp, and so its position. */
export async function updateDelivery(
  storage: StorageWriter,
  list: ListKey,
  stored: StoredObject,
  changes: Partial<Omit<Delivery, 'id'>>,
): Promise<void> {
  const attributes: JsonObject = { ...stored.attributes, ...changes };
  await storage.update(list, stored.id, formatAttributes(attributes), stored.lastModified);
}

/** Deletes a delivery without a tombstone, because clients do not see these lists. */
export async function removeDelivery(storage: StorageWriter, list: ListKey, id: string): Promise<void> {
  await storage.delete(list, id, { keepTombstone: false });
}

/**
 * Adds a delivery to the dead letters of its list, of which only the newest are kept.
 *
 * @returns number of dead letters of this list
 */
export async function moveToDeadLetters(
  storage: StorageWriter,
  dead: ListKey,
  stored: StoredObject,
  {
    attempts,
    reason,
    maxDeadLetters,
  }: { readonly attempts: number; readonly reason: string; readonly maxDeadLetters: number },
): Promise<number> {
  const attributes: JsonObject = { ...stored.attributes, holder: '', heldUntil: 0, attempts, reason };
  await storage.update(dead, stored.id, formatAttributes(attributes));
  await storage.trimObjects(dead, { filters: [] }, maxDeadLetters);
  return storage.countAll(dead, { filters: [] });
}
