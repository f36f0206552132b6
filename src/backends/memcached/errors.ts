// Where what goes wrong with a memcached server becomes the failure that the contracts know. Messages are for the log
// and name the server; the reason is for clients and does not.
import { BackendUnavailable } from '../../contracts/errors.ts';

export interface MemcachedHost {
  readonly host: string;
  readonly port: number;
}

/** The error for a connection that failed. */
export function connectionFailure(place: MemcachedHost, error: Error): BackendUnavailable {
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return failure(place, `the server cannot be reached${code}`, error);
}

/** The error for a server that is silent. */
export function timeoutFailure(place: MemcachedHost): BackendUnavailable {
  return failure(place, 'the server did not answer in time');
}

/** The error for a connection with too much on it. */
export function backlogFailure(place: MemcachedHost): BackendUnavailable {
  return failure(place, 'too many commands wait for an answer');
}

/** The error for an answer that says that the server could not do it. */
export function responseFailure(place: MemcachedHost, line: string): BackendUnavailable {
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
