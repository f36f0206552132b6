// Parser of S3 ListObjectsV2 responses. Their form is fixed and flat, so a general XML parser is not needed.
import type { BlobEntry } from '../../contracts/blobs.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';

export interface Listing {
  readonly entries: readonly BlobEntry[];
  /** Token of the next page; `undefined` after the last. */
  readonly next: string | undefined;
}

/** Maximum number of pages, of at most 1,000 entries each. */
const maxPages = 20_000;

/**
 * Yields the entries of all pages.
 *
 * @param readPage returns the response with the token
 * @throws BackendUnavailable for an invalid page, for a page that was already read, and for too many pages
 */
export async function* listPages(readPage: (token: string | undefined) => Promise<string>): AsyncGenerator<BlobEntry> {
  const tokens = new Set<string | undefined>();
  let token: string | undefined;
  do {
    if (tokens.has(token)) throw invalidListing('a page token is repeated');
    if (tokens.size === maxPages) throw invalidListing(`it has more than ${maxPages} pages`);
    tokens.add(token);
    const { entries, next } = readListing(await readPage(token));
    yield* entries;
    token = next;
  } while (token !== undefined);
}

/**
 * Parses a response to ListObjectsV2 with `encoding-type=url`. Checks that it is complete: an empty list for a web page or the
 * beginning of a list would look like success.
 *
 * @throws BackendUnavailable for an invalid one
 */
export function readListing(xml: string): Listing {
  if (!rootStart.test(xml) || !xml.trimEnd().endsWith(rootEnd)) throw invalidListing('it is no ListBucketResult');
  // Split and not matched, because a pattern would take quadratic time for elements without an end.
  const [, ...contents] = xml.split('<Contents>');
  const next = textOf(xml, 'NextContinuationToken');
  if (next === undefined && textOf(xml, 'IsTruncated') === 'true') {
    throw invalidListing('the token of the next page is missing');
  }
  return { entries: contents.map(readEntry), next };
}

const rootStart = /^\s*(?:<\?xml[^>]*>\s*)?<ListBucketResult[\s>]/;
const rootEnd = '</ListBucketResult>';

/** Reads an entry from the text after its start tag. */
function readEntry(text: string): BlobEntry {
  const end = text.indexOf('</Contents>');
  if (end === -1) throw invalidListing('a file has no end');
  const content = text.slice(0, end);
  const key = textOf(content, 'Key');
  if (key === undefined) throw invalidListing('a file has no key');
  return {
    name: decodeName(key),
    sizeBytes: Number(textOf(content, 'Size') ?? 0),
    lastModified: Date.parse(textOf(content, 'LastModified') ?? ''),
  };
}

function decodeName(encoded: string): string {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch (error) {
    throw invalidListing('a key is not percent-encoded UTF-8', error);
  }
}

function textOf(xml: string, element: string): string | undefined {
  const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return text?.replaceAll(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(amp|lt|gt|quot|apos));/g, decodeEntity);
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const maxCodePoint = 0x10_ff_ff;

function decodeEntity(_whole: string, hex: string | undefined, decimal: string | undefined, name: string): string {
  if (hex === undefined && decimal === undefined) return entities[name]!;
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  if (code > maxCodePoint) throw invalidListing('a character reference is not a Unicode character');
  return String.fromCodePoint(code);
}

function invalidListing(reason: string, cause?: unknown): BackendUnavailable {
  const message = `the object store sent an invalid list of files: ${reason}`;
  return new BackendUnavailable('attachments', message, cause === undefined ? {} : { cause });
}
