// Timestamps in HTTP headers: entity tags, preconditions and the date of `Last-Modified`.
import type { Issue } from '../errors.ts';

/** Returns a strong entity tag: `"123"`. */
export function formatEtag(timestamp: number): string {
  return `"${timestamp}"`;
}

const etag = /^"(\d+)"$/;

/**
 * Returns the timestamp of an entity tag, or `undefined` for any other text. A tag beyond the range of timestamps yields a
 * number that no timestamp equals.
 */
export function parseEtag(text: string): number | undefined {
  const digits = etag.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** HTTP dates have years of four digits; timestamps from clients may be later. */
const lastHttpDate = Date.UTC(9999, 11, 31, 23, 59, 59);

const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** Prefix of all dates of the last formatted day: most responses name the same day. */
let knownDay = { start: Number.NaN, text: '' };

/** Returns the HTTP date of a timestamp, rounded down to seconds. */
export function formatHttpDate(timestamp: number): string {
  const time = Math.min(timestamp, lastHttpDate);
  const start = Math.floor(time / dayMs) * dayMs;
  if (start !== knownDay.start) {
    knownDay = { start, text: new Date(start).toUTCString().slice(0, -'00:00:00 GMT'.length) };
  }
  const seconds = Math.floor((time - start) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return `${knownDay.text}${twoDigits[hours]!}:${twoDigits[minutes % 60]!}:${twoDigits[seconds % 60]!} GMT`;
}

export type PreconditionHeader = 'If-Match' | 'If-None-Match';

/** Value of `If-Match` or `If-None-Match`: `*`, or the one timestamp that must (not) be current. */
export type Precondition = { readonly any: true } | { readonly any: false; readonly timestamp: number };

/** Returns the precondition in a header, or an issue. Lists, weak tags and bare numbers are not accepted. */
export function parsePrecondition(
  header: PreconditionHeader,
  value: string,
): { readonly precondition: Precondition } | { readonly issue: Issue } {
  const text = value.trim();
  if (text === '*') return { precondition: { any: true } };
  const timestamp = parseEtag(text);
  if (timestamp !== undefined) return { precondition: { any: false, timestamp } };
  const description = 'expected * or a timestamp between double quotes';
  return { issue: { location: 'header', name: header, description } };
}
