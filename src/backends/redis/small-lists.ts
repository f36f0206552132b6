// Reads the version and the objects of a small list, for the cache of this process.
import { keyOfList } from '../../core/lists/list-key.ts';
import type { ListSource, ListVersion } from '../../core/lists/small-lists.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { everyTimestamp } from '../../core/query/timestamp-range.ts';
import { maxSmallBytes, maxSmallObjects, SmallList } from '../../core/query/small-list.ts';
import type { ListReads, ListVersion as ListRead } from './list-reads.ts';
import type { Allowance } from './long-reads.ts';

/** The texts of a small list. */
class SmallAllowance implements Allowance {
  /** Whether texts were left out. */
  isExceeded = false;

  next(): { readonly bytes: number; readonly isFirstKept: boolean } {
    return { bytes: maxSmallBytes, isFirstKept: false };
  }

  take(_entries: unknown, isCut: boolean): void {
    this.isExceeded ||= isCut;
  }
}

/** Returns the reads of a list in committed state. */
export function smallListSource(reads: ListReads, list: ListKey): ListSource {
  return {
    get key() {
      return keyOfList(list);
    },
    async readVersion() {
      const head = await reads.head(list, []);
      return head.version === '' || head.live > maxSmallObjects ? undefined : presented(head);
    },
    async readContents() {
      const allowance = new SmallAllowance();
      const options = { isDescending: true, limit: maxSmallObjects + 1, allowance };
      const range = await reads.range(list, 'live', everyTimestamp, options);
      if (allowance.isExceeded || range.entries.length > maxSmallObjects) return undefined;
      const objects = new SmallList(range.entries.filter((entry) => entry instanceof StoredObject));
      return { ...presented(range), objects };
    },
  };
}

function presented({ version, clock: timestamp, horizon }: ListRead): ListVersion {
  return { version, timestamp, horizon };
}
