// Small things as people read them.

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A timestamp of the service, in the time of the reader. @param {string | undefined} text milliseconds @returns {string} */
export function formatTimestamp(text) {
  const milliseconds = Number(text);
  return text === undefined || Number.isNaN(new Date(milliseconds).getTime()) ? '' : moments.format(milliseconds);
}

/** Bytes in a unit that fits. @param {number} bytes @returns {string} */
export function formatSize(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** The first letter in upper case. @param {string} text @returns {string} */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
