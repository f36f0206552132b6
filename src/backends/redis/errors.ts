// Where errors of the driver become the failures that the contracts know. Nothing outside this folder sees the driver's.
import { BackendError, BackendUnavailable } from '../../contracts/errors.ts';

export type BackendName = 'storage' | 'permission' | 'cache' | 'queue';

/** What the error codes of the server mean to an operator. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/OOM /, 'the server has reached its memory limit'],
  [/READONLY /, 'the server is a read-only replica'],
  [/LOADING /, 'the server is still loading its data'],
  [/BUSY /, 'the server is busy with a script'],
  [/MISCONF /, 'the server refuses writes because it cannot save to disk'],
  [/NOREPLICAS /, 'the server has too few replicas to accept writes'],
  [/MASTERDOWN /, 'the server has lost its master'],
  [/CLUSTERDOWN /, 'the cluster is down'],
  [/TRYAGAIN /, 'the cluster is moving the data'],
  [/NOAUTH |WRONGPASS |NOPERM /, 'the server refuses the credentials'],
  [/max number of clients/, 'the server has no connection left'],
  [/timed out|ETIMEDOUT/i, 'the server did not answer in time'],
  [/Failed to refresh slots|None of startup nodes/, 'no node of the cluster can be reached'],
];

/** Codes of sockets and of the driver that all say: there is no connection. */
const connection =
  /ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|Connection is closed|max retries per request|Stream isn't writeable|Too many Cluster redirections|connection close/i;

/** Whether the error says that the connection was lost, so that nobody knows what became of the command. */
export function isConnectionLoss(error: unknown): boolean {
  return error instanceof Error && connection.test(textOf(error));
}

/**
 * The error to throw on: failures of the world become `BackendUnavailable`, a backend's own errors and mistakes of
 * ours stay as they are.
 */
export function translateError(error: unknown, backend: BackendName): unknown {
  if (error instanceof BackendError || !(error instanceof Error)) return error;
  const text = textOf(error);
  const meaning =
    meanings.find(([pattern]) => pattern.test(text))?.[1] ??
    (connection.test(text) ? 'the server cannot be reached' : undefined);
  return meaning === undefined ? error : new BackendUnavailable(backend, `Redis: ${meaning}`, { cause: error });
}

/** The message with what the driver put beside it: codes, and the last of several errors. */
function textOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const last = 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError.message : '';
  return `${error.name} ${error.message} ${code} ${last}`;
}
