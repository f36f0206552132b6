// The entries of a page as one response text. Most pages are requested many times, and the joined text can be cached.
import type { Steps } from '../../base/steps.ts';
import { charsOf, formatEntries, isTombstone, type StoredEntry } from './stored.ts';

/** The entries of a page in their order. */
export interface EntryPage<T extends StoredEntry = StoredEntry> {
  readonly entries: readonly T[];
  /** Whether more entries follow the last one. */
  readonly more: boolean;
}

/** The entries of a page as response text. */
export interface JoinedEntries {
  /** JSON of each entry, including `id` and `last_modified`, separated by commas. */
  readonly text: string;
  readonly count: number;
  readonly last: StoredEntry | undefined;
  readonly more: boolean;
}

/** Limit for queries without one, in bytes: a process cannot hold texts much longer than this. */
export const maxPageBytes = 100_000_000;

/** Entries that are joined in one step: about a millisecond. */
const entriesPerStep = 2000;

/** Joins the entries of a page, which ends early at the given length in bytes. */
export function* joinPage<T extends EntryPage>(
  { entries: all, more: follow, ...page }: T,
  maxBytes: number = maxPageBytes,
): Steps<Omit<T, 'entries' | 'more'> & JoinedEntries> {
  const { entries, more } = fitPage({ entries: all, more: follow }, maxBytes);
  const texts: string[] = [];
  for (let start = 0; start < entries.length; start += entriesPerStep) {
    if (start > 0) yield;
    texts.push(formatEntries(entries.slice(start, start + entriesPerStep)));
  }
  return {
    ...page,
    text: texts.join(','),
    count: entries.length,
    last: entries.at(-1),
    more,
  };
}

/** Returns the page of entries read for it, one more than its limit when there are more. */
export function cutPage<T extends StoredEntry>(
  found: readonly T[],
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes?: number | undefined },
): EntryPage<T> {
  return fitPage({ entries: found.slice(0, limit), more: found.length > limit }, maxBytes);
}

/** Returns the page, ending before the entry whose text would exceed the maximum length, but with at least one entry. */
export function fitPage<T extends EntryPage>(page: T, maxBytes: number | undefined): T {
  if (maxBytes === undefined) return page;
  const { entries } = page;
  // Counting the bytes of a text takes longer than reading its length, and hardly any page needs it.
  let chars = 0;
  for (const entry of entries) chars += charsOf(entry);
  if (chars * maxBytesOfChar <= maxBytes) return page;
  let bytes = 0;
  const tooFar = entries.findIndex((entry, index) => {
    bytes += isTombstone(entry) ? 0 : Buffer.byteLength(entry.text);
    return bytes > maxBytes && index > 0;
  });
  return tooFar === -1 ? page : { ...page, entries: entries.slice(0, tooFar), more: true };
}

/** Maximum number of bytes in UTF-8 of a UTF-16 code unit. */
export const maxBytesOfChar = 3;

/** Counts the text of a page while it is read, so that reading stops soon after the page is full. */
export class PageFill {
  readonly #maxBytes: number;
  #chars = 0;
  #entries = 0;

  constructor(maxBytes: number = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /** Whether no further entry fits on the page. Texts have at least as many bytes as characters. */
  get isFull(): boolean {
    return this.#chars > this.#maxBytes && this.#entries > 1;
  }

  add(entry: StoredEntry): void {
    this.#entries++;
    this.#chars += charsOf(entry);
  }
}
