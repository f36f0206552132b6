// Formats timestamps, sizes and words for display.

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Formats a timestamp of the service in local time. @param {string | undefined} text milliseconds @returns {string} */
export function formatTimestamp(text) {
  const milliseconds = Number(text);
  return text === undefined || Number.isNaN(new Date(milliseconds).getTime()) ? '' : moments.format(milliseconds);
}

/** Formats a number of bytes with a suitable unit. @param {number} bytes @returns {string} */
export function formatSize(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Converts the first letter to upper case. @param {string} text @returns {string} */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
