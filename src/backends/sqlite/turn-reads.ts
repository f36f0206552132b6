// Counts the text that pages take in one turn of the event loop. Requests that arrive together would otherwise all read a long
// page before memory is reserved for the first one.

/** Text in characters after which further pages are read in later turns. */
const maxChars = 1_000_000;

let chars = 0;

/** Whether a page should wait for the next turn. */
export function isTurnFull(): boolean {
  return chars > maxChars;
}

export function countRead(length: number): void {
  if (chars === 0 && length > 0) setImmediate(endTurn);
  chars += length;
}

function endTurn(): void {
  chars = 0;
}
