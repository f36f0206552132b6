// Operations on failed deliveries (dead letters): count, return to the outbox, or delete.
import type { StorageReader, StorageWriter } from '../contracts/storage.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import { formatAttributes } from '../core/objects/stored.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import { deadKind, parseDelivery, pendingKind, removeDelivery } from './outbox.ts';

export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
  /** Reason of the newest dead letter; absent without dead letters. */
  readonly reason?: string;
}

const pageSize = 100;

/** Counts pending deliveries and dead letters of a webhook. */
export async function countDeliveries(storage: StorageReader, name: string): Promise<DeliveryCounts> {
  let reason: string | undefined;
  let newest = 0;
  const count = async (kind: string): Promise<number> => {
    let sum = 0;
    for (const parent of await storage.listParents(kind)) {
      sum += await storage.countAll({ kind, parent }, { filters: [] });
      if (kind !== deadKind(name)) continue;
      const [last] = await readPage(storage, { kind, parent }, { direction: 'descending', limit: 1 });
      if (last === undefined || last.lastModified <= newest) continue;
      [newest, reason] = [last.lastModified, parseDelivery(last).reason];
    }
    return sum;
  };
  const [pending, dead] = [await count(pendingKind(name)), await count(deadKind(name))];
  return reason === undefined ? { pending, dead } : { pending, dead, reason };
}

/**
 * Removes a page of the dead letters of one list, oldest first. With `retry` they are appended to their outbox with reset
 * attempts, otherwise deleted.
 *
 * @returns number of removed dead letters; 0 if none remain
 */
export async function emptyDeadLetters(
  storage: StorageWriter,
  { name, parent }: { readonly name: string; readonly parent: string },
  { retry, now }: { readonly retry: boolean; readonly now: number },
): Promise<number> {
  const dead: ListKey = { kind: deadKind(name), parent };
  const outbox: ListKey = { kind: pendingKind(name), parent };
  await storage.lock(outbox);
  await storage.lock(dead);
  const page = await readPage(storage, dead, { direction: 'ascending', limit: pageSize });
  for (const stored of page) {
    await removeDelivery(storage, dead, stored.id);
    const attributes = { ...stored.attributes, created: now, attempts: 0, due: 0 };
    if (retry) await storage.create(outbox, stored.id, formatAttributes(attributes));
  }
  return page.length;
}

async function readPage(
  storage: StorageReader,
  list: ListKey,
  { direction, limit }: { readonly direction: 'ascending' | 'descending'; readonly limit: number },
): Promise<readonly StoredObject[]> {
  const sort = [{ field: lastModifiedField, direction }];
  return (await storage.listAll(list, { filters: [], sort, limit })).entries as readonly StoredObject[];
}
