// Timestamps as HTTP headers carry them: the entity tag and the date of `Last-Modified`.

/** `"123"`, a strong entity tag. */
export function formatEtag(timestamp: number): string {
  return `"${timestamp}"`;
}

const etag = /^"(\d+)"$/;

/**
 * The timestamp of an entity tag; `undefined` when the text is none. One beyond the range of timestamps comes back as
 * a number that no timestamp equals.
 */
export function parseEtag(text: string): number | undefined {
  const digits = etag.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** HTTP dates have four digits for the year, timestamps given by clients may lie far behind that. */
const lastHttpDate = Date.UTC(9999, 11, 31, 23, 59, 59);

/** The HTTP date of a timestamp, in whole seconds, rounded down. */
export function formatHttpDate(timestamp: number): string {
  return new Date(Math.min(timestamp, lastHttpDate)).toUTCString();
}
