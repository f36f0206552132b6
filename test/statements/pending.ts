// Statements that no test proves yet, and why. Empty when all is done; a test checks that none is missing or too many.

/** Reasons by number. */
export const pending: ReadonlyMap<number, string> = new Map([
  [244, 'Redis needs one connection for each process, so that the size of a pool, 25 unless set, has no meaning there'],
]);
