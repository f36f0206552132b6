// Digests of the contents of a store. Equal digests mean equal contents: a SHA-256 over what has an order, and the sum of the
// SHA-256 of each part where each backend has an order of its own.
import { createHash, hash, type Hash } from 'node:crypto';
import type { Memberships, ObjectEntries, ObjectPermissions, PermissionReader } from '../../contracts/permission.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { compareText } from '../../core/query/compare.ts';
import { formatEntryLine } from '../export/lines.ts';
import { walkEntryPages, walkMemberships, walkPermissions } from '../../maintenance/walk.ts';

export interface ListDigest {
  readonly digest: string;
  readonly objects: number;
  readonly tombstones: number;
}

/** Returns the digest of a list: ids, timestamps and texts of objects, and ids and timestamps of tombstones, in the order of timestamps. */
export async function digestList(
  reader: StorageReader,
  list: ListKey,
  onRead: (entries: number) => void,
): Promise<ListDigest> {
  const digest = new RunningListDigest();
  for await (const page of walkEntryPages(reader, list)) {
    digest.add(page);
    onRead(page.length);
  }
  return digest.result();
}

/** Computes the digest of a list from its entries. */
export class RunningListDigest {
  readonly #hash: Hash = createHash('sha256');
  #objects = 0;
  #tombstones = 0;

  /** Adds entries; returns their text, a line each. */
  add(entries: readonly StoredEntry[]): string {
    let text = '';
    for (const entry of entries) {
      text += formatEntryLine(entry);
      if (isTombstone(entry)) this.#tombstones++;
      else this.#objects++;
    }
    this.#hash.update(text);
    return text;
  }

  /** Number of entries that were added. */
  get count(): number {
    return this.#objects + this.#tombstones;
  }

  result(): ListDigest {
    return { digest: this.#hash.digest('hex'), objects: this.#objects, tombstones: this.#tombstones };
  }
}

export interface SetDigest {
  readonly digest: string;
  readonly count: number;
}

/** Returns the digest of all objects with their permission entries. */
export async function digestPermissions(
  reader: PermissionReader,
  onRead: (objects: number) => void = () => {},
): Promise<SetDigest> {
  const sum = new DigestSum();
  for await (const page of walkPermissions(reader)) {
    addPermissions(sum, page);
    onRead(page.length);
  }
  return sum.result();
}

/** Adds objects with their permission entries to a digest. */
export function addPermissions(sum: DigestSum, page: readonly ObjectEntries[]): void {
  for (const { objectId, permissions } of page) {
    const entries = sortEntries(permissions);
    if (entries.length > 0) sum.add(JSON.stringify([objectId, entries]));
  }
}

/** Returns the digest of all users with their principals. */
export async function digestMemberships(
  reader: PermissionReader,
  onRead: (users: number) => void = () => {},
): Promise<SetDigest> {
  const sum = new DigestSum();
  for await (const page of walkMemberships(reader)) {
    addMemberships(sum, page);
    onRead(page.length);
  }
  return sum.result();
}

/** Adds users with their principals to a digest. */
export function addMemberships(sum: DigestSum, page: readonly Memberships[]): void {
  for (const { userId, principals } of page) {
    if (principals.length > 0) sum.add(JSON.stringify([userId, inOrder(principals)]));
  }
}

/** Returns one text for equal entries, whatever their order. */
export function formatPermissions(permissions: ObjectPermissions): string {
  return JSON.stringify(sortEntries(permissions));
}

function sortEntries(permissions: ObjectPermissions): readonly (readonly [string, readonly string[]])[] {
  const entries = Object.entries(permissions).map(([name, principals]) => [name, inOrder(principals)] as const);
  return entries.length < 2 ? entries : entries.toSorted(([a], [b]) => compareText(a, b));
}

function inOrder(principals: readonly Principal[]): readonly string[] {
  return principals.length < 2 ? principals : principals.toSorted(compareText);
}

/** Number of parts of 32 bits in a SHA-256. */
const lanes = 8;
/** Number of additions of 32 bits that stay exact in a double. */
const addsBetweenCarries = 2 ** 20;

/** A sum of digests, which does not depend on their order. Unlike an XOR, it depends on how often a part occurs. */
export class DigestSum {
  /** From the lowest part to the highest. */
  readonly #sum = new Float64Array(lanes);
  #count = 0;

  add(text: string): void {
    const digest = hash('sha256', text, 'buffer');
    for (let lane = 0; lane < lanes; lane++) this.#sum[lane]! += digest.readUInt32BE((lanes - 1 - lane) * 4);
    if (++this.#count % addsBetweenCarries === 0) this.#carry();
  }

  result(): SetDigest {
    this.#carry();
    const digest = Array.from(this.#sum.toReversed(), (part) => part.toString(16).padStart(8, '0')).join('');
    return { digest, count: this.#count };
  }

  #carry(): void {
    let carry = 0;
    for (let lane = 0; lane < lanes; lane++) {
      const sum = this.#sum[lane]! + carry;
      carry = Math.floor(sum / 2 ** 32);
      this.#sum[lane] = sum - carry * 2 ** 32;
    }
  }
}
