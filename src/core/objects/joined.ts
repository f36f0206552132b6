// The entries of a page as one text, as clients see them: most lists are asked for again and again, and what is joined once
// can be kept.
import { formatEntries, isTombstone, type StoredEntry } from './stored.ts';

/** Entries in their order, as clients see them. */
export interface JoinedEntries {
  /** JSON of each, `id` and `last_modified` included, with commas between them. */
  readonly text: string;
  readonly count: number;
  readonly last: Pick<StoredEntry, 'id' | 'lastModified'> | undefined;
  /** Whether more entries follow the last one. */
  readonly more: boolean;
}

/** A page ends early where its text would become too long for one answer; there is always one entry on it. */
const maxPageChars = 100_000_000;

/** A page with its entries joined. */
export function joinPage<T extends { readonly entries: readonly StoredEntry[]; readonly more: boolean }>({
  entries: all,
  more,
  ...page
}: T): Omit<T, 'entries' | 'more'> & JoinedEntries {
  const entries = fittingEntries(all);
  const last = entries.at(-1);
  return {
    ...page,
    text: formatEntries(entries),
    count: entries.length,
    last: last && { id: last.id, lastModified: last.lastModified },
    more: more || entries.length < all.length,
  };
}

/** The first entries, as many as fit on a page. */
export function fittingEntries(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  let chars = 0;
  const tooFar = entries.findIndex((entry, index) => {
    chars += isTombstone(entry) ? 0 : entry.text.length;
    return chars > maxPageChars && index > 0;
  });
  return tooFar === -1 ? entries : entries.slice(0, tooFar);
}
