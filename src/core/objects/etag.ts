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

const dayMs = 86_400_000;
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** What all dates of a day begin with: most answers of a day are about that day. */
let knownDay = { start: Number.NaN, text: '' };

/** The HTTP date of a timestamp, in whole seconds, rounded down. */
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
