// Encodes long response texts to bytes, in steps. Bytes are outside the heap while the client reads.
import { runFromNow, type Steps } from '../base/steps.ts';
import { charsOfTurn } from '../engine/stored-work.ts';

/** Encodes a text, or its pieces one after the other, in UTF-8. */
export function encodeBody(text: string | readonly string[]): Buffer | Promise<Buffer> {
  return runFromNow(encodeInSteps(typeof text === 'string' ? [text] : text), 'normal');
}

/** Encodes about a millisecond's worth of text in one step. */
function* encodeInSteps(pieces: readonly string[]): Steps<Buffer> {
  const isLong = pieces.reduce((sum, piece) => sum + piece.length, 0) > charsOfTurn;
  if (isLong) yield;
  // Also joins the parts that a text was concatenated from.
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  if (isLong) yield;
  let written = 0;
  let left = charsOfTurn;
  for (const piece of pieces) {
    for (let start = 0; start < piece.length;) {
      const end = endOfStep(piece, start + left);
      written += bytes.write(piece.slice(start, end), written);
      left -= end - start;
      start = end;
      if (left > 0) continue;
      left = charsOfTurn;
      yield;
    }
  }
  return bytes;
}

/** Returns the index, or the next one if the index would split a surrogate pair. */
function endOfStep(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return Math.min(last >= 0xd800 && last < 0xdc00 ? end + 1 : end, text.length);
}
