// Turns errors of the driver into the errors of the contracts. Code outside this folder never sees the driver's errors.
import { BackendError, BackendUnavailable, TransactionConflict, UnstorableText } from '../../contracts/errors.ts';
import type { ServiceError } from '../../core/errors.ts';
import { tooMuchWork } from '../../core/query/budget.ts';

export type BackendName = 'storage' | 'permission' | 'cache';

interface Meaning {
  readonly what: string;
  /** What an operator can do. */
  readonly remedy?: string;
  /** Whether it lasts until an operator acts. */
  readonly isLasting?: boolean;
}

/** Remedy for a pooler that does not keep what the service leaves in a session. */
export const pooling = 'behind a pooler, set postgresql_transaction_pooling';

/** Meanings of SQLSTATE codes, or of the two characters of their class. */
const meanings: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['08', { what: 'the connection is broken' }],
  ['25006', { what: 'the server is read-only', remedy: 'name the one that takes writes in the URL, or set readonly' }],
  ['25P03', { what: 'a transaction was idle for too long' }],
  ['25P04', { what: 'a transaction took too long', remedy: 'transaction_timeout of the server is the limit' }],
  ['26', { what: 'a prepared statement is missing', remedy: pooling, isLasting: true }],
  ['28', { what: 'the server refuses the user or the password', remedy: 'check the URL', isLasting: true }],
  ['3D000', { what: 'the database does not exist', remedy: 'create it, or check the URL', isLasting: true }],
  [
    '42501',
    {
      what: 'the user lacks a right in the database',
      remedy:
        'grant SELECT, INSERT, UPDATE and DELETE on all tables that begin with coffer_, and USAGE on the sequence ' +
        'coffer_numbers',
      isLasting: true,
    },
  ],
  ['42P01', { what: 'the database has no schema yet', remedy: 'run `coffer migrate`', isLasting: true }],
  ['42P05', { what: 'a prepared statement exists twice', remedy: pooling, isLasting: true }],
  ['53', { what: 'the server has no room or memory left' }],
  [
    '53300',
    { what: 'the server has no connections left', remedy: 'raise its max_connections, or lower storage_pool_size' },
  ],
  ['54', { what: 'a limit of the server was exceeded' }],
  ['55', { what: 'the server is not in a state to do this' }],
  [
    '55000',
    {
      what: 'the database takes no connections at the moment',
      remedy: 'if its maintenance is over, ALTER DATABASE … ALLOW_CONNECTIONS true',
    },
  ],
  ['55P03', { what: 'a lock was not granted in time', remedy: 'see who holds it in pg_stat_activity' }],
  ['57', { what: 'the server stopped the statement or is going down' }],
  ['57014', { what: 'a statement took too long', remedy: 'postgresql_statement_timeout_seconds is the limit' }],
  ['57P03', { what: 'the server is starting or going down' }],
  ['57P04', { what: 'the database was dropped', remedy: 'restore it, or check the URL' }],
  ['58', { what: 'the server reports an input/output error' }],
  ['F0', { what: 'the server cannot use its configuration' }],
  ['XX', { what: 'the server reports an internal error' }],
]);

/** PgBouncer refuses parameters of a connection that it does not know, with the code of a protocol violation. */
const refusedParameter: Meaning = {
  what: 'a pooler refuses a parameter of the connection',
  remedy: `${pooling}, and leave parameters of the server out of the URL`,
  isLasting: true,
};

/** Codes of classes that have a meaning which are faults of the service, unless they end the session. */
const mistakes: readonly string[] = ['08P01', '25P01', '25P02', '54001', '54011', '54023'];

/** Conflicts between transactions: the unit of work may run again. */
const conflicts: readonly string[] = ['40001', '40003', '40P01', '23505'];

/** Codes for text that the server has no characters for, such as an escaped null character in JSON. */
const unstorable: readonly string[] = ['22021', '22P05'];

/** Codes of a session that has ended or is about to end. */
const sessionEnds: readonly string[] = [
  '08000',
  '08003',
  '08006',
  '25P03',
  '25P04',
  '57P01',
  '57P02',
  '57P04',
  '57P05',
];
const socketErrors: readonly string[] = ['ECONNRESET', 'EPIPE'];
const lostMessages = /^(?:Connection terminated|Client has encountered a connection error|Client was closed)/;

/** Returns the code of an error: SQLSTATE from the server, or the code of a socket error. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns whether the connection was lost during a statement, which may succeed on another connection. */
export function isLostConnection(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return sessionEnds.includes(code) || socketErrors.includes(code) || isFarewell(error, code);
  return error instanceof Error && lostMessages.test(error.message);
}

/** Returns whether a pooler ends the session: PgBouncer uses the code of a protocol violation for all its reasons. */
function isFarewell(error: unknown, code: string): boolean {
  return code === '08P01' && error instanceof Error && 'severity' in error && error.severity === 'FATAL';
}

/** Returns whether the server refused a statement in good order, so that the connection remains usable. */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  // A server that has become read-only is a standby now. A new connection may find its successor.
  return code !== undefined && isFromServer(error) && code !== '25006' && !isLostConnection(error);
}

function isFromServer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error;
}

/** Returns whether the server itself reports the failure of a statement, which it then has not executed. */
export function isReported(error: unknown): boolean {
  return isFromServer(error) && !isLostConnection(error);
}

/** Returns whether a translated error is that of a statement that the server stopped because it took too long. */
function isTimeout(error: unknown): boolean {
  return error instanceof BackendUnavailable && codeOf(error.cause) === '57014';
}

/** Code of a pattern that the server refuses: long ones become regular expressions. */
const tooComplex = '2201B';

/**
 * Returns the error for a scan of a list that the server has stopped after too long, or refuses; `undefined` for other failures.
 *
 * @param scans what the statement scans
 * @param whileOthersWait whether it had the time of a client's query in a unit of work that holds locks
 */
export function asTooMuchWork(
  error: unknown,
  scans: { readonly of: string; readonly isOfClient?: boolean } | undefined,
  whileOthersWait = false,
): ServiceError | undefined {
  if (codeOf(error) === tooComplex) return tooMuchWork('a pattern is too long for the database');
  if (scans?.of !== 'list' || !isTimeout(error)) return undefined;
  const limit =
    whileOthersWait && scans.isOfClient === true
      ? 'while others wait (postgresql_lock_timeout_seconds)'
      : '(postgresql_statement_timeout_seconds)';
  return tooMuchWork(`the database stopped it after too long ${limit}`);
}

/** Returns whether a lock was refused. */
export function isLockRefused(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/**
 * Returns the error to throw: failures of the server and conflicts as errors of the contracts, faults of the service
 * unchanged.
 *
 * @param place host and port of the server, for the log
 * @param isUndone see `UnavailableOptions`
 */
export function translateError(error: unknown, backend: BackendName, place: string, isUndone = false): Error {
  if (error instanceof BackendError) return error;
  if (!(error instanceof Error)) return new Error('a value that is not an Error was thrown', { cause: error });
  const code = codeOf(error);
  if (code === undefined || !isFromServer(error)) {
    // Errors without a severity come from the driver or the socket.
    return unavailable(backend, place, describe(error), error);
  }
  if (conflicts.includes(code)) return new TransactionConflict(`PostgreSQL: ${code}`, { cause: error });
  if (unstorable.includes(code)) return new UnstorableText({ cause: error });
  if (code === '54000') return new UnstorableText({ cause: error }, 'a text is longer than the database can index');
  const meaning = meaningOf(error, code);
  return meaning === undefined ? error : unavailable(backend, place, meaning, error, isUndone);
}

function meaningOf(error: Error, code: string): Meaning | undefined {
  if (mistakes.includes(code) && !isFarewell(error, code)) return undefined;
  if (error.message.startsWith('unsupported startup parameter')) return refusedParameter;
  return meanings.get(code) ?? meanings.get(code.slice(0, 2));
}

function unavailable(
  backend: BackendName,
  place: string,
  { what, remedy, isLasting }: Meaning,
  cause: Error,
  isUndone = false,
): BackendUnavailable {
  const message = `PostgreSQL at ${place}: ${remedy === undefined ? what : `${what}; ${remedy}`}`;
  return new BackendUnavailable(backend, message, { cause, reason: what, isLasting, isUndone });
}

/** Returns whether the server did not respond to a statement, even after its own timeout. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Query read timeout');
}

function describe(error: Error): Meaning {
  if (isSilence(error)) return { what: 'the server did not respond in time' };
  if (error.message.includes('timeout')) return { what: 'no connection became available in time' };
  const code = codeOf(error);
  if (isLostConnection(error)) return { what: `the connection broke${code === undefined ? '' : ` (${code})`}` };
  // The driver's messages may contain host names. The log has them as the cause.
  const isOfSystem = code !== undefined && /^E[A-Z_]+$/.test(code);
  return { what: isOfSystem ? `the server cannot be reached (${code})` : 'no connection can be made' };
}
