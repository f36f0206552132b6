// Where errors of the driver become the failures that the contracts know. Nothing outside this folder sees the driver's.
import { BackendError, BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';

export type BackendName = 'storage' | 'permission' | 'cache';

/** What SQLSTATE codes, or the two characters of their class, mean to an operator. */
const meanings: ReadonlyMap<string, string> = new Map([
  ['08', 'the connection is broken'],
  ['25006', 'the server is read-only'],
  ['25P03', 'a transaction was idle for too long'],
  ['26', 'a prepared statement is missing: behind a pooler, set postgresql_transaction_pooling'],
  ['28', 'the server refuses the user or the password'],
  ['3D000', 'the database does not exist'],
  ['42501', 'the user lacks a right in the database'],
  ['42P01', 'the database has no schema yet: run `coffer migrate`'],
  ['42P05', 'a prepared statement exists twice: behind a pooler, set postgresql_transaction_pooling'],
  ['53', 'the server has no room, memory or connections left'],
  ['54', 'a text is longer than the database can index'],
  ['55P03', 'a lock was not given in time'],
  ['57', 'the server stopped the statement or is going down'],
  ['58', 'the server reports an input/output error'],
  ['XX', 'the server reports an internal error'],
]);

/** Of classes that have a meaning, but nobody's fault than ours. */
const mistakes: readonly string[] = ['08P01', '25P01', '25P02', '54001', '54011', '54023'];

/** Lost races: running the unit of work again from its start helps. */
const conflicts: readonly string[] = ['40001', '40003', '40P01', '23505'];

/** The server ended the session, or told so before it did. */
const sessionEnds: readonly string[] = ['08000', '08003', '08006', '25P03', '57P01', '57P02', '57P05'];
const socketErrors: readonly string[] = ['ECONNRESET', 'EPIPE'];
const lostMessages = /^(?:Connection terminated|Client has encountered a connection error|Client was closed)/;

/** The code of an error: SQLSTATE from the server, or what the system says of a socket. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Whether the connection went away under a statement, which may well succeed on another one. */
export function isLostConnection(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return sessionEnds.includes(code) || socketErrors.includes(code);
  return error instanceof Error && lostMessages.test(error.message);
}

/** Whether the error came from the server, in good order, and leaves the connection usable. */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  // A server that has become read-only is a standby now; a new connection may find the one that took its place.
  return code !== undefined && isFromServer(error) && code !== '25006' && !isLostConnection(error);
}

function isFromServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}

/** Whether a lock was not given. */
export function isLockRefused(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** The error to throw on: the world's failures and lost races in the words of the contracts, mistakes of ours as they are. */
export function translateError(error: unknown, backend: BackendName): Error {
  if (error instanceof BackendError) return error;
  if (!(error instanceof Error)) return new Error('something that is no error was thrown', { cause: error });
  const code = codeOf(error);
  if (code === undefined || !isFromServer(error)) {
    // Without the mark of the server it comes from the driver or the socket.
    return new BackendUnavailable(backend, `PostgreSQL: ${describe(error)}`, { cause: error });
  }
  if (conflicts.includes(code)) return new TransactionConflict(`PostgreSQL: ${code}`, { cause: error });
  const meaning = mistakes.includes(code) ? undefined : (meanings.get(code) ?? meanings.get(code.slice(0, 2)));
  return meaning === undefined ? error : new BackendUnavailable(backend, `PostgreSQL: ${meaning}`, { cause: error });
}

function describe(error: Error): string {
  if (error.message.startsWith('Query read timeout')) return 'the server did not answer in time';
  if (error.message.includes('timeout')) return 'no connection could be had in time';
  return codeOf(error) ?? error.message;
}
