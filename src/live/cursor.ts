// How far a client has a list. Ids of frames are cursors, and clients send them back when they resume.

export interface Cursor {
  readonly timestamp: number;
  /**
   * Whether the caller saw only single objects of the list. Older objects may be shared with it since, and objects that are no
   * longer shared have no tombstones, so a client cannot resume from there, whatever it may see now.
   */
  readonly isPart: boolean;
}

/** Begins the cursors of single objects. They are numbers too, for clients that compare them. */
const partMark = '0';

/** Formats a cursor, with the timestamp in the given base. */
export function formatCursor({ timestamp, isPart }: Cursor, radix = 10): string {
  return (isPart ? partMark : '') + timestamp.toString(radix);
}

/** Parses a cursor; returns `undefined` for a text that is none. */
export function parseCursor(text: string, radix = 10): Cursor | undefined {
  const isPart = text.length > 1 && text.startsWith(partMark);
  const digits = isPart ? text.slice(1) : text;
  const timestamp = Number.parseInt(digits, radix);
  const isCursor = Number.isSafeInteger(timestamp) && timestamp >= 0 && timestamp.toString(radix) === digits;
  return isCursor ? { timestamp, isPart } : undefined;
}
