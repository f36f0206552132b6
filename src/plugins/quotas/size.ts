// How large an object counts: the length of its JSON text, written in ASCII alone.
import { formatEntry, isTombstone, type StoredEntry } from '../../core/objects/stored.ts';

const ascii = /^[ -~]*$/;
/** What stands for any other character in ASCII: `\u00e9`. */
const escapeLength = 6;

/** Characters of the whole object as compact JSON, everything but printable ASCII escaped; noUsage for tombstones. */
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
