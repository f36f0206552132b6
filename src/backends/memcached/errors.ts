// Conversion of memcached failures into errors of the contracts. Messages are for the log and name the server. The
// reason is for clients and does not.
import { BackendUnavailable } from '../../contracts/errors.ts';

export interface MemcachedHost {
  readonly host: string;
  readonly port: number;
}

/** Returns the error for a failed connection. */
export function connectionFailure(place: MemcachedHost, error: Error): BackendUnavailable {
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return failure(place, `the server cannot be reached${code}`, error);
}

/** Returns the error for a missing response. */
export function timeoutFailure(place: MemcachedHost): BackendUnavailable {
  return failure(place, 'the server did not answer in time');
}

/** Returns the error for a full backlog. */
export function backlogFailure(place: MemcachedHost): BackendUnavailable {
  return failure(place, 'too many commands are waiting for a response');
}

/** Returns the error for an error response. */
export function responseFailure(place: MemcachedHost, line: string): BackendUnavailable {
  if (line.startsWith('SERVER_ERROR out of memory')) return failure(place, 'the server is out of memory');
  return failure(place, 'the server refused a command', new Error(line.slice(0, 200)));
}

function failure({ host, port }: MemcachedHost, what: string, cause?: Error): BackendUnavailable {
  const server = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new BackendUnavailable('cache', `memcached at ${server}: ${what}`, {
    reason: what,
    ...(cause === undefined ? {} : { cause }),
  });
}
