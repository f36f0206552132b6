// The size of an object for quotas: the length of its JSON text in ASCII.
import { formatEntry, isTombstone, type StoredEntry } from '../../core/objects/stored.ts';

const ascii = /^[ -~]*$/;
/** Length of the escape of any other character: `\u00e9`. */
const escapeLength = 6;

/** Returns the length of the object as compact JSON with all but printable ASCII escaped, and 0 for tombstones. */
export function sizeOf(entry: StoredEntry | undefined): number {
  if (entry === undefined || isTombstone(entry)) return 0;
  const text = formatEntry(entry);
  if (ascii.test(text)) return text.length;
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    length += code >= 0x20 && code <= 0x7e ? 1 : escapeLength;
  }
  return length;
}
