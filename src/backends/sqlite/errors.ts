// Where errors of the driver become the failures that the contracts know. Nothing outside this folder sees the driver's.
import { BackendError, BackendUnavailable } from '../../contracts/errors.ts';

export type BackendName = 'storage' | 'permission' | 'cache';

const busyCodes: readonly number[] = [5, 6];
const constraintCode = 19;

/** What the primary result codes of SQLite mean to an operator. */
const meanings: ReadonlyMap<number, string> = new Map([
  [5, 'the database is locked by another process'],
  [6, 'the database is locked by another process'],
  [7, 'SQLite ran out of memory'],
  [8, 'the database file is read-only'],
  [9, 'the operation was interrupted'],
  [10, 'the disk reports an input/output error'],
  [11, 'the database file is damaged'],
  [13, 'the disk is full'],
  [14, 'the database file cannot be opened'],
  [18, 'the text is larger than SQLite can hold'],
  [23, 'access to the database is denied'],
  [26, 'the file is not a SQLite database'],
]);

/** The primary result code of a driver's error; `undefined` for any other error. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  // The low byte is the primary code, the rest narrows it down.
  return error.errcode & 0xff;
}

/** Whether another connection holds a lock, so that trying again later may help. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && busyCodes.includes(code);
}

/** Whether a unique index has refused the row. */
export function isTaken(error: unknown): boolean {
  return resultCode(error) === constraintCode;
}

/**
 * The error to throw on: failures of the world become `BackendUnavailable`, a backend's own errors and mistakes of
 * ours stay as they are.
 */
export function translateError(error: unknown, backend: BackendName): unknown {
  if (error instanceof BackendError || !(error instanceof Error)) return error;
  if (error.message.startsWith('no such table')) {
    const message = 'the SQLite database has no schema yet: run `coffer migrate`';
    return new BackendUnavailable(backend, message, { cause: error });
  }
  const code = resultCode(error);
  const meaning = code === undefined ? undefined : meanings.get(code);
  return meaning === undefined ? error : new BackendUnavailable(backend, `SQLite: ${meaning}`, { cause: error });
}

/** Runs the operation and translates what it throws. */
export function translating<T>(backend: BackendName, operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    throw translateError(error, backend);
  }
}
