// Digests of what a store holds. Equal digests mean equal contents: SHA-256 over whatever has an order, and the sum of
// the SHA-256 of each part where every backend has an order of its own.
import { createHash } from 'node:crypto';
import type { ObjectPermissions, PermissionReader } from '../../contracts/permission.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type ListKey } from '../../core/objects/stored.ts';
import { compareText } from '../../core/query/compare.ts';
import { pageSize, walkEntries, walkMemberships, walkPermissions } from './walk.ts';

export interface ListDigest {
  readonly digest: string;
  readonly objects: number;
  readonly tombstones: number;
}

/** Of the ids, timestamps and texts of all objects, and the ids and timestamps of all tombstones, in the order of timestamps. */
export async function digestList(
  reader: StorageReader,
  list: ListKey,
  onRead: (entries: number) => void,
): Promise<ListDigest> {
  const hash = createHash('sha256');
  let [objects, tombstones] = [0, 0];
  for await (const entry of walkEntries(reader, list)) {
    const text = isTombstone(entry) ? null : entry.text;
    if (text === null) tombstones++;
    else objects++;
    hash.update(`${JSON.stringify([entry.id, entry.lastModified, text])}\n`);
    if ((objects + tombstones) % pageSize === 0) onRead(pageSize);
  }
  onRead((objects + tombstones) % pageSize);
  return { digest: hash.digest('hex'), objects, tombstones };
}

export interface SetDigest {
  readonly digest: string;
  readonly count: number;
}

/** Of all objects with their access-control entries. */
export async function digestPermissions(
  reader: PermissionReader,
  onRead: (objects: number) => void = () => {},
): Promise<SetDigest> {
  const sum = new DigestSum();
  for await (const page of walkPermissions(reader)) {
    for (const { objectId, permissions } of page) {
      const text = formatPermissions(permissions);
      if (text !== '[]') sum.add(JSON.stringify([objectId, text]));
    }
    onRead(page.length);
  }
  return sum.result();
}

/** Of all users with their principals. */
export async function digestMemberships(
  reader: PermissionReader,
  onRead: (users: number) => void = () => {},
): Promise<SetDigest> {
  const sum = new DigestSum();
  for await (const page of walkMemberships(reader)) {
    for (const { userId, principals } of page) sum.add(JSON.stringify([userId, principals.toSorted(compareText)]));
    onRead(page.length);
  }
  return sum.result();
}

/** One text for equal entries, whatever their order. */
export function formatPermissions(permissions: ObjectPermissions): string {
  const entries = Object.entries(permissions).map(([name, principals]) => {
    return [name, principals.toSorted(compareText)] as const;
  });
  return JSON.stringify(entries.toSorted(([a], [b]) => compareText(a, b)));
}

/** The sum does not depend on the order; unlike that of bits, it also tells how often something occurs. */
class DigestSum {
  #sum = 0n;
  #count = 0;

  add(text: string): void {
    this.#sum = BigInt.asUintN(256, this.#sum + BigInt(`0x${createHash('sha256').update(text).digest('hex')}`));
    this.#count++;
  }

  result(): SetDigest {
    return { digest: this.#sum.toString(16).padStart(64, '0'), count: this.#count };
  }
}
