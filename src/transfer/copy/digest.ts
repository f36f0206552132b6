// Digests of what a store holds. Equal digests mean equal contents: SHA-256 over whatever has an order, and the sum of
// the SHA-256 of each part where every backend has an order of its own.
import { createHash, hash, type Hash } from 'node:crypto';
import type { Memberships, ObjectEntries, ObjectPermissions, PermissionReader } from '../../contracts/permission.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import { compareText } from '../../core/query/compare.ts';
import { formatEntryLine } from '../export/lines.ts';
import { walkEntryPages, walkMemberships, walkPermissions } from '../../maintenance/walk.ts';

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
  const digest = new RunningListDigest();
  for await (const page of walkEntryPages(reader, list)) {
    digest.add(page);
    onRead(page.length);
  }
  return digest.result();
}

/** The digest of a list while its entries pass by. */
export class RunningListDigest {
  readonly #hash: Hash = createHash('sha256');
  #objects = 0;
  #tombstones = 0;

  /** Adds entries; returns the text that stands for them, a line each. */
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

  /** How many were added. */
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

/** Of all objects with their access-control entries. */
export async function digestPermissions(
  reader: PermissionReader,
  onRead: (objects: number) => void = () => {},
): Promise<SetDigest> {
  const digest = new RunningPermissionsDigest();
  for await (const page of walkPermissions(reader)) {
    digest.add(page);
    onRead(page.length);
  }
  return digest.result();
}

/** The digest of permissions while they pass by, in any order. */
export class RunningPermissionsDigest {
  readonly #sum = new DigestSum();

  add(page: readonly ObjectEntries[]): void {
    for (const { objectId, permissions } of page) {
      const entries = sortEntries(permissions);
      if (entries.length > 0) this.#sum.add(JSON.stringify([objectId, entries]));
    }
  }

  result(): SetDigest {
    return this.#sum.result();
  }
}

/** Of all users with their principals. */
export async function digestMemberships(
  reader: PermissionReader,
  onRead: (users: number) => void = () => {},
): Promise<SetDigest> {
  const digest = new RunningMembershipsDigest();
  for await (const page of walkMemberships(reader)) {
    digest.add(page);
    onRead(page.length);
  }
  return digest.result();
}

/** The digest of memberships while they pass by, in any order. */
export class RunningMembershipsDigest {
  readonly #sum = new DigestSum();

  add(page: readonly Memberships[]): void {
    for (const { userId, principals } of page) {
      if (principals.length > 0) this.#sum.add(JSON.stringify([userId, inOrder(principals)]));
    }
  }

  result(): SetDigest {
    return this.#sum.result();
  }
}

/** One text for equal entries, whatever their order. */
export function formatPermissions(permissions: ObjectPermissions): string {
  return JSON.stringify(sortEntries(permissions));
}

function sortEntries(permissions: ObjectPermissions): readonly (readonly [string, readonly string[]])[] {
  const entries = Object.entries(permissions).map(([name, principals]) => [name, inOrder(principals)] as const);
  return entries.length < 2 ? entries : entries.toSorted(([a], [b]) => compareText(a, b));
}

function inOrder(principals: readonly string[]): readonly string[] {
  return principals.length < 2 ? principals : principals.toSorted(compareText);
}

/** How many parts of 32 bits a SHA-256 has. */
const lanes = 8;
/** So many sums of 32 bits stay exact. */
const addsBetweenCarries = 2 ** 20;

/** The sum does not depend on the order; unlike that of bits, it also tells how often something occurs. */
class DigestSum {
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
