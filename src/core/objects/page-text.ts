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

/** Where a query does not limit its page: longer texts are more than a process can hold. */
const mostPageBytes = 100_000_000;

/** A page with its entries joined; it ends early at so many bytes. */
export function joinPage<T extends { readonly entries: readonly StoredEntry[]; readonly more: boolean }>(
  { entries: all, more: follow, ...page }: T,
  maxBytes: number = mostPageBytes,
): Omit<T, 'entries' | 'more'> & JoinedEntries {
  const { entries, more } = fitPage({ entries: all, more: follow }, maxBytes);
  const last = entries.at(-1);
  return {
    ...page,
    text: formatEntries(entries),
    count: entries.length,
    last: last && { id: last.id, lastModified: last.lastModified },
    more,
  };
}

/** The page, ending before the entry with which its texts would have more bytes than allowed, but never before the first. */
export function fitPage<T extends { readonly entries: readonly StoredEntry[]; readonly more: boolean }>(
  page: T,
  maxBytes: number | undefined,
): T {
  if (maxBytes === undefined) return page;
  const { entries } = page;
  // Looking at the bytes of a text costs more than looking at its length, and hardly any page needs it.
  let chars = 0;
  for (const entry of entries) if (!isTombstone(entry)) chars += entry.text.length;
  if (chars * mostBytesOfChar <= maxBytes) return page;
  let bytes = 0;
  const tooFar = entries.findIndex((entry, index) => {
    bytes += isTombstone(entry) ? 0 : Buffer.byteLength(entry.text);
    return bytes > maxBytes && index > 0;
  });
  return tooFar === -1 ? page : { ...page, entries: entries.slice(0, tooFar), more: true };
}

/** In UTF-8, of a UTF-16 code unit. */
export const mostBytesOfChar = 3;

/** Follows how much of a page has been read, so that reading stops soon after the page is full. */
export class PageFill {
  readonly #maxBytes: number;
  #chars = 0;
  #entries = 0;

  constructor(maxBytes: number = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /** Whether an entry more would not be on the page. Texts have at least as many bytes as characters. */
  get isFull(): boolean {
    return this.#chars > this.#maxBytes && this.#entries > 1;
  }

  add(entry: StoredEntry): void {
    this.#entries++;
    if (!isTombstone(entry)) this.#chars += entry.text.length;
  }
}
