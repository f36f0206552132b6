// Statements that no test proves yet, and why. Empty when all is done; a test checks that none is missing or too many.

/** Reasons by number. */
export const pending: ReadonlyMap<number, string> = new Map([]);
