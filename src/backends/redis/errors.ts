// Turns errors of the driver into the errors of the contracts. Code outside this folder never sees the driver's errors.
import { BackendError, BackendUnavailable } from '../../contracts/errors.ts';

export type BackendName = 'storage' | 'permission' | 'cache' | 'queue';

/** Errors of credentials. Commands with many arguments are refused to unauthenticated clients with words of their own. */
const credentials = /NOAUTH |WRONGPASS |NOPERM |unauthenticated/;
/** Error of scripts for a list some of whose keys are missing. */
export const lostKeys = 'LOSTKEYS keys of a list are missing';
const loss = /LOSTKEYS /;
const fullHouse = /max number of clients/;

/** Meanings of the error codes of the server, and what an operator can do. */
const meanings: readonly (readonly [code: RegExp, what: string, remedy?: string])[] = [
  [/OOM /, 'the server has reached its memory limit', 'raise its maxmemory'],
  [/READONLY /, 'the server is a read-only replica', 'name the one that takes writes in the URL'],
  [/LOADING /, 'the server is still loading its data'],
  [/BUSY /, 'the server is busy with a script'],
  [/MISCONF /, 'the server refuses writes because it cannot save to disk', 'its log says why'],
  [/NOREPLICAS /, 'the server has too few replicas to accept writes'],
  [/MASTERDOWN /, 'the server has lost its master'],
  [/CLUSTERDOWN /, 'the cluster is down'],
  [/TRYAGAIN /, 'the cluster is moving the data'],
  // The node has lost the slot, or has lost contact to other nodes, since the script began.
  [/Script attempted to (?:access a non local key|execute)/, 'the cluster is moving the data'],
  [
    loss,
    'the server has lost a part of the data',
    'set its maxmemory-policy to noeviction, and restore a backup or delete what is damaged',
  ],
  [credentials, 'the server refuses the credentials', 'check the URL'],
  [fullHouse, 'the server has no connection left', 'raise its maxclients'],
  [/timed out|ETIMEDOUT|socket timeout/i, 'the server did not respond in time'],
  [/Failed to refresh slots|None of startup nodes/, 'no node of the cluster can be reached'],
];

/** Codes with which the server refuses a script before it has written anything. */
const refusals = /^(?:OOM|READONLY|LOADING|BUSY|MISCONF|NOREPLICAS|MASTERDOWN) /;

/** Codes of sockets and of the driver for a missing connection. */
const connection =
  /ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|Connection is closed|max retries per request|Stream isn't writeable|Too many Cluster redirections|connection close/i;

/** Returns whether the connection was lost, so that the outcome of the command is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  return error instanceof Error && connection.test(textOf(error));
}

/** Returns the error of a unit of work that is one script. Nothing is written if the script was not sent or was refused. */
export function ofOneScript(error: unknown): unknown {
  if (!(error instanceof BackendUnavailable)) return error;
  const { backend, message, cause, reason, isLasting } = error;
  // Only errors of the driver have a cause.
  const isUndone = cause === undefined || (cause instanceof Error && refusals.test(cause.message));
  return isUndone ? new BackendUnavailable(backend, message, { cause, reason, isLasting, isUndone }) : error;
}

/** Returns whether the error is the reason why the server or the driver ends the connection. */
export function isFarewell(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return fullHouse.test(error.message) || credentials.test(error.message) || error.message.startsWith('READONLY');
}

/** Returns whether the error says only that the connection has ended, and not why. */
export function isMereEnd(error: Error): boolean {
  return /ECONNRESET|EPIPE/.test(textOf(error));
}

/**
 * Returns the error to throw: failures of the server as `BackendUnavailable`, errors of the backend and faults of the
 * service unchanged.
 *
 * @param place host and port of the server, for the log
 * @param trouble the last error of the connection, which is more precise than its end
 */
export function translateError(error: unknown, backend: BackendName, place: string, trouble?: Error): unknown {
  if (error instanceof BackendError || !(error instanceof Error)) return error;
  const isLoss = isConnectionLoss(error);
  const text = isLoss && trouble !== undefined ? `${textOf(trouble)} ${textOf(error)}` : textOf(error);
  const known = meanings.find(([pattern]) => pattern.test(text));
  if (known === undefined && !isLoss) return error;
  const [pattern, what = unreachable(text), remedy] = known ?? [];
  const message = `Redis at ${place}: ${remedy === undefined ? what : `${what}; ${remedy}`}`;
  const isLasting = pattern === credentials || pattern === loss;
  return new BackendUnavailable(backend, message, { cause: error, reason: what, isLasting });
}

function unreachable(text: string): string {
  const code = /ECONN[A-Z]+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE/.exec(text)?.[0];
  return `the server cannot be reached${code === undefined ? '' : ` (${code})`}`;
}

/** Returns the message with the details that the driver adds: codes, and the last of several errors. */
function textOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const last = 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError.message : '';
  return `${error.name} ${error.message} ${code} ${last}`;
}
