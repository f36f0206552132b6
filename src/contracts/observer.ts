// What happens inside the service, told as one stream of observations. The access log, metrics, traces and the log of
// slow operations are all made from it, so that they cannot disagree. Nothing here holds bodies or credentials.
import type { ListKey } from '../core/objects/stored.ts';

/** Who looks on. Nobody may be there: then nothing is measured and no observation is made. */
export interface Observer {
  /** Takes notice of something that has happened. Quick; what it throws is logged and changes nothing. */
  observe(observation: Observation): void;
  /**
   * Runs a piece of work, so that what is observed meanwhile is known to be part of it. Returns what the work returns,
   * and throws what it throws.
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
  | OverloadObservation;

/** A request that begins: an outer one, or an entry of a batch. */
export interface Task {
  readonly kind: 'request' | 'entry';
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** How a request, or an entry of a batch, was answered. */
export interface Answered {
  readonly method: string;
  /** As sent, without query. */
  readonly path: string;
  /** As sent, without question mark, secrets blackened; `''` when there was none. */
  readonly query: string;
  /** Name of the endpoint, `record-object`; `undefined` when nothing serves the path, or nobody got to look. */
  readonly endpoint: string | undefined;
  /** Path of the endpoint below the version prefix, `/buckets/{bucket_id}`. */
  readonly route: string | undefined;
  /** Ids of the path as sent, by name. */
  readonly ids: Readonly<Record<string, string>>;
  readonly status: number;
  /** Number of the error in the body; 0 when there is none. */
  readonly errno: number;
  /** `basicauth:…`; `undefined` when anonymous, or nobody asked who calls. */
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
  /** Of a batch, in their order; `undefined` when it was no batch. */
  readonly entries: readonly Answered[] | undefined;
}

/** A call to a backend has ended, well or not. */
export interface OperationObservation {
  readonly kind: 'operation';
  readonly backend: 'storage' | 'permission' | 'cache';
  /** `memory`, `sqlite`, `postgresql`, `redis`. */
  readonly engine: string;
  /** `get`, `list_all`, `begin`, `commit`. */
  readonly method: string;
  /** The list it is about, if it is about one. */
  readonly list: ListKey | undefined;
  /** By the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly milliseconds: number;
  /** What it threw. */
  readonly error: unknown;
}

/** A key was looked for in the cache. */
export interface LookupObservation {
  readonly kind: 'lookup';
  readonly isHit: boolean;
}

/** A policy was asked who calls. */
export interface AuthenticationObservation {
  readonly kind: 'authentication';
  readonly policy: string;
  readonly milliseconds: number;
  readonly isRecognised: boolean;
}

/** A caller was refused something for want of a permission. */
export interface RefusalObservation {
  readonly kind: 'refusal';
  /** What the method asks for: `read`, `create` or `write`. */
  readonly permission: string;
  /** Path below the version prefix. */
  readonly uri: string;
  readonly userId: string | undefined;
  readonly requestId: string;
}

/** A unit of work lost a race inside the database, and is run again. */
export interface RetryObservation {
  readonly kind: 'retry';
  /** How many times it has been tried, this one included. */
  readonly attempt: number;
}

/** What there was too much of: requests under way, delay of the event loop, or memory held by large requests. */
export type Overload = 'requests' | 'delay' | 'memory';

/** A request was refused because the process has too much to do. */
export interface OverloadObservation {
  readonly kind: 'overload';
  readonly reason: Overload;
}

/** A part of the service has done its share of a request: an event listener, or a plugin that listens. */
export interface TimingObservation {
  readonly kind: 'timing';
  readonly part: 'listeners' | 'plugins';
  /** Name of the listener or of the plugin. */
  readonly name: string;
  readonly milliseconds: number;
}

/** A stream of live updates was opened, or has ended. */
export type LiveObservation =
  | {
      readonly kind: 'live';
      readonly event: 'opened';
      readonly userId: string | undefined;
      readonly list: ListKey;
    }
  | {
      readonly kind: 'live';
      readonly event: 'ended';
      readonly userId: string | undefined;
      readonly list: ListKey;
      /** `client`: the client has left. `age`: it was open for the longest time allowed. */
      readonly reason: 'client' | 'age' | 'refused' | 'stopping';
      readonly milliseconds: number;
      readonly frames: number;
      /** Number of times that the client had to fetch the list again. */
      readonly resyncs: number;
    };

/** How the connections to a database are used at the moment. */
export interface PoolState {
  readonly limit: number;
  readonly open: number;
  readonly idle: number;
  /** Callers that wait for one. */
  readonly waiting: number;
}
