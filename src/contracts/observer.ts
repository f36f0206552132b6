// Observations: one stream of events inside the service, from which the access log, metrics, traces and the log of slow
// operations are derived. Observations contain neither bodies nor credentials.
import type { ListKey } from '../core/objects/stored.ts';
import type { UserId } from '../core/permissions/principals.ts';

/** A consumer of observations. Without observers, nothing is measured. */
export interface Observer {
  /** Processes an observation. Must be fast; its errors are logged and have no other effect. */
  observe(observation: Observation): void;
  /**
   * Runs work as the context of all observations made during it. Returns the result of the work, or throws its error.
   */
  enclose?<T extends Answered>(task: Task, work: () => Promise<T>): Promise<T>;
}

export type Observation =
  | RequestObservation
  | OperationObservation
  | LookupObservation
  | AuthenticationObservation
  | RefusalObservation
  | RetryObservation
  | TimingObservation
  | LiveObservation
  | OverloadObservation
  | EventLoopObservation;

/** The start of an outer request or of a batch entry. */
export interface Task {
  readonly kind: 'request' | 'entry';
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** The result of an outer request or of a batch entry. */
export interface Answered {
  readonly method: string;
  /** As sent, without query. */
  readonly path: string;
  /** As sent, without question mark, with secrets redacted; `''` for none. */
  readonly query: string;
  /** Name of the endpoint, such as `record-object`; `undefined` for an unknown path or a request refused before routing. */
  readonly endpoint: string | undefined;
  /** Path of the endpoint below the version prefix, such as `/buckets/{bucket_id}`. */
  readonly route: string | undefined;
  /** Ids in the path as sent, by name. */
  readonly ids: Readonly<Record<string, string>>;
  readonly status: number;
  /** Number of the error in the body; 0 for none. */
  readonly errno: number;
  /** User id with prefix; `undefined` when the caller is anonymous or was not identified. */
  readonly userId: UserId | undefined;
  readonly milliseconds: number;
}

/** An outer request has been completed and its writes are committed. */
export interface RequestObservation extends Answered {
  readonly kind: 'request';
  readonly requestId: string;
  /** `User-Agent`. */
  readonly agent: string | undefined;
  /** `Accept-Language`. */
  readonly language: string | undefined;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Query plan that the client asked for; `undefined` otherwise. */
  readonly plan: string | undefined;
  /** Entries of a batch in their order; `undefined` for other requests. */
  readonly entries: readonly Answered[] | undefined;
}

/** A call to a backend has ended, with or without an error. */
export interface OperationObservation {
  readonly kind: 'operation';
  readonly backend: 'storage' | 'permission' | 'cache';
  /** `memory`, `sqlite`, `postgresql`, `redis`. */
  readonly engine: string;
  /** `get`, `list_all`, `begin`, `commit`. */
  readonly method: string;
  /** The list of the call, if it has one. */
  readonly list: ListKey | undefined;
  /** By the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly milliseconds: number;
  /** The thrown error. */
  readonly error: unknown;
}

/** A lookup in the cache. */
export interface LookupObservation {
  readonly kind: 'lookup';
  readonly isHit: boolean;
}

/** A policy has tried to authenticate a request. */
export interface AuthenticationObservation {
  readonly kind: 'authentication';
  readonly policy: string;
  readonly milliseconds: number;
  readonly isRecognised: boolean;
}

/** A caller lacked a permission. */
export interface RefusalObservation {
  readonly kind: 'refusal';
  /** The required permission: `read`, `create` or `write`. */
  readonly permission: string;
  /** Path below the version prefix. */
  readonly uri: string;
  readonly userId: UserId | undefined;
  readonly requestId: string;
}

/** A unit of work is retried after a conflict in the database. */
export interface RetryObservation {
  readonly kind: 'retry';
  /** Number of attempts so far. */
  readonly attempt: number;
}

/** The exceeded limit: concurrent requests, delay of the event loop, or memory of large requests. */
export type Overload = 'requests' | 'delay' | 'memory';

/** A request was refused because the process is overloaded. */
export interface OverloadObservation {
  readonly kind: 'overload';
  readonly reason: Overload;
}

/** The delay of the event loop since the last such observation, about twice a second. */
export interface EventLoopObservation {
  readonly kind: 'event-loop';
  readonly meanMs: number;
  readonly maxMs: number;
}

/** An event listener or a plugin has handled an event. */
export interface TimingObservation {
  readonly kind: 'timing';
  readonly part: 'listeners' | 'plugins';
  /** Name of the listener or of the plugin. */
  readonly name: string;
  readonly milliseconds: number;
}

/** How a client receives live updates. */
export type LiveTransport = 'sse' | 'poll';

/** A stream or long poll was opened or has ended, or frames were sent to streams. */
export type LiveObservation =
  | {
      readonly kind: 'live';
      readonly event: 'opened';
      readonly transport: LiveTransport;
      /** Number of streams or long polls of this process, this one included. */
      readonly open: number;
      readonly userId: UserId | undefined;
      readonly list: ListKey;
    }
  | {
      readonly kind: 'live';
      readonly event: 'ended';
      readonly transport: LiveTransport;
      /** Number of streams or long polls of this process that remain. */
      readonly open: number;
      readonly userId: UserId | undefined;
      readonly list: ListKey;
      /** `client`: the client left. `age`: the stream reached its maximum age. `answered`: the poll is over. */
      readonly reason: 'client' | 'age' | 'refused' | 'stopping' | 'answered';
      readonly milliseconds: number;
      readonly frames: number;
      /** Number of times that the client had to fetch the list again. */
      readonly resyncs: number;
    }
  | {
      readonly kind: 'live';
      readonly event: 'sent';
      /** Number of frames, counted for each stream. */
      readonly frames: number;
      readonly resyncs: number;
      /** Time since this process learned of the first change in the frames; `undefined`: no followed change was sent. */
      readonly lagMs: number | undefined;
    };

/** Current use of a connection pool. */
export interface PoolState {
  readonly limit: number;
  readonly open: number;
  readonly idle: number;
  /** Number of waiting callers. */
  readonly waiting: number;
}
