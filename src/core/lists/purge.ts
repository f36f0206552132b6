// The selection of tombstones that a purge deletes: the options of the contract, applied to one list after the other.
import type { ListKey } from '../objects/stored.ts';
import type { ListParent } from '../objects/uris.ts';

/** Selection of tombstones; see `StorageWriter.purgeDeleted`. */
export interface PurgeOptions {
  readonly kind?: string;
  readonly parent?: ListParent;
  readonly before?: number | undefined;
  readonly maxRetained?: number | undefined;
  readonly limit?: number;
}

/** A purge under way. */
export class Purge {
  /** Lists of this kind only. */
  readonly kind: string | undefined;
  /** Lists of this parent only. */
  readonly parent: ListParent | undefined;
  /** Tombstones below this timestamp only. */
  readonly before: number;
  /** Tombstones that each list keeps, the newest. */
  readonly maxRetained: number;
  readonly #limit: number;
  /** Tombstones deleted so far. */
  count = 0;

  constructor({ kind, parent, before, maxRetained, limit = Infinity }: PurgeOptions) {
    if (before !== undefined && maxRetained !== undefined) throw new Error('give either before or maxRetained');
    this.kind = kind;
    this.parent = parent;
    this.before = before ?? Number.MAX_SAFE_INTEGER + 1;
    this.maxRetained = maxRetained ?? 0;
    this.#limit = limit;
  }

  /** Whether the list takes part. */
  includes({ kind, parent }: ListKey): boolean {
    return (this.kind ?? kind) === kind && (this.parent ?? parent) === parent;
  }

  /** Returns the maximum number of tombstones to delete, the oldest first, of a list with `dead` tombstones. */
  limitTo(dead: number): number {
    return Math.max(0, Math.min(this.#limit - this.count, dead - this.maxRetained));
  }
}
