// Turns errors of the driver into the errors of the contracts. Code outside this folder never sees the driver's errors.
import { BackendError, BackendUnavailable } from '../../contracts/errors.ts';

export type BackendName = 'storage' | 'permission' | 'cache';

/** The meaning of a primary result code of SQLite for an operator. */
interface Meaning {
  readonly what: string;
  /** What an operator can do. */
  readonly remedy?: string;
  /** Whether it lasts until an operator acts. */
  readonly isLasting?: boolean;
  /** Beginnings of SQLite's own messages: errors that `all` throws have no code. */
  readonly messages: readonly string[];
}

const busyCodes: readonly number[] = [5, 6];
const ioCode = 10;
const constraintCode = 19;
const damageCodes: readonly number[] = [11, 26];

export const damageRemedy =
  'stop the service and restore a backup, or rescue what can be read with `sqlite3 FILE .recover` (see docs/guides/operating.md)';

const meanings: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [5, { what: 'the database is locked by another process', messages: ['database is locked'] }],
  [6, { what: 'the database is locked by another process', messages: ['database table is locked'] }],
  [7, { what: 'SQLite ran out of memory', messages: ['out of memory'] }],
  [
    8,
    {
      what: 'the database file is read-only',
      remedy: 'make the file and its folder writable, or set readonly',
      isLasting: true,
      messages: ['attempt to write a readonly database'],
    },
  ],
  [9, { what: 'the operation was interrupted', messages: ['interrupted'] }],
  [10, { what: 'the disk reports an input/output error', messages: ['disk I/O error'] }],
  [
    11,
    {
      what: 'the database file is damaged',
      remedy: damageRemedy,
      isLasting: true,
      messages: ['database disk image is malformed', 'malformed database schema'],
    },
  ],
  [13, { what: 'the disk is full', messages: ['database or disk is full'] }],
  [
    14,
    {
      what: 'the database file cannot be opened',
      remedy: 'check the path, and the owner and mode of the file and its folder',
      isLasting: true,
      messages: ['unable to open database file'],
    },
  ],
  [15, { what: 'the locks of the database file do not work', messages: ['locking protocol'] }],
  [18, { what: 'the text is larger than SQLite can hold', messages: ['string or blob too big'] }],
  [23, { what: 'access to the database is denied', messages: ['authorization denied', 'not authorized'] }],
  [
    26,
    {
      what: 'the file is not a SQLite database',
      remedy: damageRemedy,
      isLasting: true,
      messages: ['file is not a database'],
    },
  ],
]);

/** Returns the primary result code of a driver's error; `undefined` for any other error. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return undefined;
  // The low byte is the primary code, the rest narrows it down.
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff;
  const { message } = error;
  if (message.startsWith('UNIQUE constraint failed')) return constraintCode;
  for (const [code, { messages }] of meanings) if (messages.some((start) => message.startsWith(start))) return code;
  return undefined;
}

/** Returns whether another connection holds a lock, so that a later attempt may succeed. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && busyCodes.includes(code);
}

/** Returns whether the disk has failed, so that what a commit has written may be found after a restart. */
export function isDiskError(error: unknown): boolean {
  return resultCode(error) === ioCode;
}

/** Returns whether a unique index has refused the row. */
export function isTaken(error: unknown): boolean {
  return resultCode(error) === constraintCode;
}

/** Returns whether SQLite has found the file damaged, from an error of the driver or a translated one. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error instanceof BackendUnavailable ? error.cause : error);
  return code !== undefined && damageCodes.includes(code);
}

/**
 * Returns the error to throw: failures of file or disk as `BackendUnavailable`, errors of the backend and faults of the
 * service unchanged.
 *
 * @param isUndone see `UnavailableOptions`
 */
export function translateError(error: unknown, backend: BackendName, isUndone = false): unknown {
  if (error instanceof BackendError || !(error instanceof Error)) return error;
  if (error.message.startsWith('no such table')) {
    const message = 'the SQLite database has no schema yet: run `coffer migrate`';
    return new BackendUnavailable(backend, message, { cause: error, isUndone });
  }
  const code = resultCode(error);
  const meaning = code === undefined ? undefined : meanings.get(code);
  if (meaning === undefined) return error;
  const { what, remedy, isLasting } = meaning;
  const message = `SQLite: ${remedy === undefined ? what : `${what}; ${remedy}`}`;
  return new BackendUnavailable(backend, message, { cause: error, reason: what, isLasting, isUndone });
}

/** Runs the operation and translates its errors. */
export function translating<T>(backend: BackendName, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    throw translateError(error, backend);
  }
}
