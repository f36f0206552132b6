// Where what goes wrong with a memcached server becomes the failure that the contracts know.
import { BackendUnavailable } from '../../contracts/errors.ts';

/** The error for a connection that failed. */
export function connectionFailure(error: Error): BackendUnavailable {
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return failure(`the server cannot be reached${code}`, error);
}

/** The error for a server that is silent. */
export function timeFailure(): BackendUnavailable {
  return failure('the server did not answer in time');
}

/** The error for a connection with too much on it. */
export function backlogFailure(): BackendUnavailable {
  return failure('too many commands wait for an answer');
}

/** The error for an answer that says that the server could not do it. */
export function answerFailure(line: string): BackendUnavailable {
  if (line.startsWith('SERVER_ERROR out of memory')) return failure('the server has no memory left');
  return failure('the server refuses a command', new Error(line.slice(0, 200)));
}

function failure(what: string, cause?: Error): BackendUnavailable {
  return new BackendUnavailable('cache', `memcached: ${what}`, {
    reason: what,
    ...(cause === undefined ? {} : { cause }),
  });
}
