// Texts of clients as keys. An index holds no text beyond some 2,700 bytes, so a long one is known by its beginning and
// its digest.
import { createHash } from 'node:crypto';

const maxKeyBytes = 500;
const keptCharacters = 60;

/** The text itself, or what stands for it when it is too long. */
export function keyOfText(text: string): string {
  if (Buffer.byteLength(text) <= maxKeyBytes) return text;
  const digest = createHash('sha256').update(text).digest('base64url');
  // No surrogate is cut off from its other half: the beginning is for people, the digest tells.
  return `${Array.from(text.slice(0, keptCharacters + 1))
    .slice(0, keptCharacters)
    .join('')
    .toWellFormed()}…${digest}`;
}
