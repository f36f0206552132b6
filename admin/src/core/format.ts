// Formats timestamps, sizes and words for display.

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const exactMoments = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const numbers = new Intl.NumberFormat();

/** Formats a timestamp of the service in local time. `text` is in milliseconds. */
export function formatTimestamp(text: string | undefined): string {
  return format(text, moments);
}

/** Formats a timestamp with weekday, seconds and time zone. */
export function formatExactTimestamp(text: string | undefined): string {
  return format(text, exactMoments);
}

function format(text: string | undefined, formatter: Intl.DateTimeFormat): string {
  const milliseconds = Number(text);
  return text === undefined || Number.isNaN(new Date(milliseconds).getTime()) ? '' : formatter.format(milliseconds);
}

/** Formats a count with separators. */
export function formatCount(count: number): string {
  return numbers.format(count);
}

/** Formats a number of bytes with a suitable unit. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return bytes < 1_000_000_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** Converts the first letter to upper case. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
