// The entries of a page joined to one JSON text, in the form that clients see. Lists are read repeatedly, so joined texts can
// be cached.
import { formatEntries, isTombstone, type StoredEntry } from './stored.ts';

/** Entries in their order, in the form that clients see. */
export interface JoinedEntries {
  /** JSON of the entries with `id` and `last_modified`, separated by commas. */
  readonly text: string;
  readonly count: number;
  readonly last: Pick<StoredEntry, 'id' | 'lastModified'> | undefined;
  /** Whether more entries follow the last one. */
  readonly more: boolean;
}

/** Limit of a page whose query has none: longer texts could exhaust the memory of a process. */
const mostPageBytes = 100_000_000;

/** Returns a page with its entries joined, cut to at most `maxBytes`. */
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

/** Returns the page cut before the entry with which its texts would exceed `maxBytes`. At least one entry stays. */
export function fitPage<T extends { readonly entries: readonly StoredEntry[]; readonly more: boolean }>(
  page: T,
  maxBytes: number | undefined,
): T {
  if (maxBytes === undefined) return page;
  const { entries } = page;
  // Counting bytes costs more than reading the length, and hardly any page needs it.
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

/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
export const mostBytesOfChar = 3;

/** Tracks the size of a page while it is read, so that reading stops soon after the page is full. */
export class PageFill {
  readonly #maxBytes: number;
  #chars = 0;
  #entries = 0;

  constructor(maxBytes: number = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /** Whether a further entry cannot be on the page. Texts have at least as many bytes as characters. */
  get isFull(): boolean {
    return this.#chars > this.#maxBytes && this.#entries > 1;
  }

  add(entry: StoredEntry): void {
    this.#entries++;
    if (!isTombstone(entry)) this.#chars += entry.text.length;
  }
}
