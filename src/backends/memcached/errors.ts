// Turns failures of a memcached server into the errors of the contracts. Messages are for the log and name the server; the
// reason is for clients and does not.
import { BackendUnavailable } from '../../contracts/errors.ts';

export interface MemcachedHost {
  readonly host: string;
  readonly port: number;
}

/** Returns the error of a failed connection. */
export function connectionFailure(place: MemcachedHost, error: Error): BackendUnavailable {
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return failure(place, `the server cannot be reached${code}`, error);
}

/** Returns the error of a server that does not respond in time. */
export function timeFailure(place: MemcachedHost): BackendUnavailable {
  return failure(place, 'the server did not respond in time');
}

/** Returns the error of a connection with too many waiting commands. */
export function backlogFailure(place: MemcachedHost): BackendUnavailable {
  return failure(place, 'too many commands wait for an answer');
}

/** Returns the error of a response that reports a failure. */
export function answerFailure(place: MemcachedHost, line: string): BackendUnavailable {
  if (line.startsWith('SERVER_ERROR out of memory')) return failure(place, 'the server has no memory left');
  return failure(place, 'the server refuses a command', new Error(line.slice(0, 200)));
}

function failure({ host, port }: MemcachedHost, what: string, cause?: Error): BackendUnavailable {
  const server = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new BackendUnavailable('cache', `memcached at ${server}: ${what}`, {
    reason: what,
    ...(cause === undefined ? {} : { cause }),
  });
}
