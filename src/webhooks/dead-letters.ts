// Operations on failed deliveries (dead letters): count, list, return to the outbox, or delete.
import type { StorageReader, StorageWriter } from '../contracts/storage.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import { formatAttributes } from '../core/objects/stored.ts';
import type { ListParent } from '../core/objects/uris.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import { deadKind, parseDelivery, pendingKind, removeDelivery } from './outbox.ts';

export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
  /** Reason of the newest dead letter; absent without dead letters. */
  readonly reason?: string;
}

/** Whether dead letters return to their outboxes or are deleted, and the time. */
interface Move {
  readonly retry: boolean;
  readonly now: number;
}

const pageSize = 100;
/** Maximum size of a page, because bodies can be large. */
const pageBytes = 8_000_000;

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
  { name, parent }: { readonly name: string; readonly parent: ListParent },
  move: Move,
): Promise<number> {
  const dead: ListKey = { kind: deadKind(name), parent };
  const outbox: ListKey = { kind: pendingKind(name), parent };
  await storage.lock(outbox);
  await storage.lock(dead);
  const page = await readPage(storage, dead, { direction: 'ascending', limit: pageSize });
  for (const stored of page) await moveOut(storage, { dead, outbox }, stored, move);
  return page.length;
}

async function readPage(
  storage: StorageReader,
  list: ListKey,
  { direction, limit }: { readonly direction: 'ascending' | 'descending'; readonly limit: number },
): Promise<readonly StoredObject[]> {
  const sort = [{ field: lastModifiedField, direction }];
  return (await storage.listAll(list, { filters: [], sort, limit, maxBytes: pageBytes }))
    .entries as readonly StoredObject[];
}

/** The last failure of a page: its list, and its timestamp. */
export type FailurePosition = readonly [parent: ListParent, lastModified: number];

export interface FailurePage {
  readonly failures: readonly { readonly parent: ListParent; readonly stored: StoredObject }[];
  readonly next: FailurePosition | undefined;
}

/** Reads a page of the dead letters of a webhook, by list, newest first in each list. */
export async function readFailures(
  storage: StorageReader,
  name: string,
  { after, limit }: { readonly after: FailurePosition | undefined; readonly limit: number },
): Promise<FailurePage> {
  const kind = deadKind(name);
  const failures: { readonly parent: ListParent; readonly stored: StoredObject }[] = [];
  const sort = [{ field: lastModifiedField, direction: 'descending' }] as const;
  for (const parent of (await storage.listParents(kind)).toSorted()) {
    if (after !== undefined && parent < after[0]) continue;
    const position = after !== undefined && parent === after[0] ? [after[1]] : undefined;
    // One more than wanted shows whether others follow.
    const wanted = limit - failures.length + 1;
    const page = await storage.listAll(
      { kind, parent },
      { filters: [], sort, limit: wanted, maxBytes: pageBytes, ...(position === undefined ? {} : { after: position }) },
    );
    for (const stored of page.entries as readonly StoredObject[]) {
      const last = failures.at(-1);
      if (failures.length === limit && last !== undefined) {
        return { failures, next: [last.parent, last.stored.lastModified] };
      }
      failures.push({ parent, stored });
    }
    const last = failures.at(-1);
    if (page.more && last !== undefined) return { failures, next: [last.parent, last.stored.lastModified] };
  }
  return { failures, next: undefined };
}

/**
 * Returns one dead letter to its outbox, or deletes it.
 *
 * @returns whether it existed
 */
export async function takeDeadLetter(
  storage: StorageWriter,
  { name, parent, id }: { readonly name: string; readonly parent: ListParent; readonly id: string },
  move: Move,
): Promise<boolean> {
  const dead: ListKey = { kind: deadKind(name), parent };
  const outbox: ListKey = { kind: pendingKind(name), parent };
  await storage.lock(outbox);
  const { object } = await storage.lock(dead, id);
  if (object === undefined) return false;
  await moveOut(storage, { dead, outbox }, object, move);
  return true;
}

async function moveOut(
  storage: StorageWriter,
  { dead, outbox }: { readonly dead: ListKey; readonly outbox: ListKey },
  stored: StoredObject,
  { retry, now }: Move,
): Promise<void> {
  await removeDelivery(storage, dead, stored.id);
  const attributes = { ...stored.attributes, created: now, attempts: 0, due: 0 };
  if (retry) await storage.create(outbox, stored.id, formatAttributes(attributes));
}
