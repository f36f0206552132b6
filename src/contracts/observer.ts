// One stream of observations of what happens inside the service. The access log, metrics, traces and the log of slow
// operations all derive from it, so they agree. Observations contain no bodies and no credentials.
import type { ListKey } from '../core/objects/stored.ts';

/** Receives observations. The service may run without an observer, and then measures and observes nothing. */
export interface Observer {
  /** Receives an observation. Returns quickly; an error that it throws is logged and has no other effect. */
  observe(observation: Observation): void;
  /**
   * Runs a piece of work, so that observations made during it belong to it. Returns what the work returns, and throws what
   * it throws.
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
  | OverloadObservation;

/** A request that begins: an outer one, or an entry of a batch. */
export interface Task {
  readonly kind: 'request' | 'entry';
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A request, or an entry of a batch, with its response. */
export interface Answered {
  readonly method: string;
  /** As sent, without query. */
  readonly path: string;
  /** As sent, without question mark and with secrets masked; `''` when absent. */
  readonly query: string;
  /** Name of the endpoint, `record-object`; `undefined` when no endpoint serves the path, or the path was not looked up. */
  readonly endpoint: string | undefined;
  /** Path of the endpoint below the version prefix, `/buckets/{bucket_id}`. */
  readonly route: string | undefined;
  /** Ids of the path as sent, by name. */
  readonly ids: Readonly<Record<string, string>>;
  readonly status: number;
  /** Number of the error in the body; 0 when there is none. */
  readonly errno: number;
  /** `basicauth:…`; `undefined` when the caller is anonymous, or no policy was asked. */
  readonly userId: string | undefined;
  readonly milliseconds: number;
}

/** An outer request has been answered, and what it wrote is committed. */
export interface RequestObservation extends Answered {
  readonly kind: 'request';
  readonly requestId: string;
  /** `User-Agent` and `Accept-Language`. */
  readonly agent: string | undefined;
  readonly language: string | undefined;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** The entries of a batch, in their order; `undefined` for other requests. */
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
  /** The list that the call reads or writes; `undefined` for other calls. */
  readonly list: ListKey | undefined;
  /** By the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly milliseconds: number;
  /** The error that the call threw. */
  readonly error: unknown;
}

/** A key was looked up in the cache. */
export interface LookupObservation {
  readonly kind: 'lookup';
  readonly isHit: boolean;
}

/** A policy was asked for the identity of a caller. */
export interface AuthenticationObservation {
  readonly kind: 'authentication';
  readonly policy: string;
  readonly milliseconds: number;
  readonly isRecognised: boolean;
}

/** A request was refused because the caller lacks a permission. */
export interface RefusalObservation {
  readonly kind: 'refusal';
  /** The permission that the method needs: `read`, `create` or `write`. */
  readonly permission: string;
  /** Path below the version prefix. */
  readonly uri: string;
  readonly userId: string | undefined;
  readonly requestId: string;
}

/** A unit of work runs again after a conflict inside the database. */
export interface RetryObservation {
  readonly kind: 'retry';
  /** Number of the attempt, counted from 1. */
  readonly attempt: number;
}

/** Cause of an overload: requests under way, delay of the event loop, or memory held by large requests. */
export type Overload = 'requests' | 'delay' | 'memory';

/** A request was refused because the process is overloaded. */
export interface OverloadObservation {
  readonly kind: 'overload';
  readonly reason: Overload;
}

/** A part of the service has finished its work for a request: an event listener, or a plugin with subscribers. */
export interface TimingObservation {
  readonly kind: 'timing';
  readonly part: 'listeners' | 'plugins';
  /** Name of the listener or of the plugin. */
  readonly name: string;
  readonly milliseconds: number;
}

/** Current use of the connections to a database. */
export interface PoolState {
  readonly limit: number;
  readonly open: number;
  readonly idle: number;
  /** Number of callers that wait for a connection. */
  readonly waiting: number;
}
