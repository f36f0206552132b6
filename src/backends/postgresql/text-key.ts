// Keys for texts of clients. An index entry is limited to about 2,700 bytes, so a long text is identified by its beginning
// and its digest.
import { createHash } from 'node:crypto';

const maxKeyBytes = 500;
const keptCharacters = 60;

/** Returns the text itself, or its replacement when it is too long. */
export function keyOfText(text: string): string {
  if (Buffer.byteLength(text) <= maxKeyBytes) return text;
  const digest = createHash('sha256').update(text).digest('base64url');
  // Keeps surrogate pairs together. The beginning is for readers, and the digest identifies the text.
  return `${Array.from(text.slice(0, keptCharacters + 1))
    .slice(0, keptCharacters)
    .join('')
    .toWellFormed()}…${digest}`;
}
