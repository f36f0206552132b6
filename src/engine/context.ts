// The context of one request, or of one entry of a batch, as its handler gets it.
import type { Issue } from '../core/errors.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { Caller } from './caller.ts';
import type { ServiceRequest, ServiceResponse } from './exchange.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** Accepted parts of the path that are not ids of objects, by name: `timestamp`, `*`. */
export type PathParameters = Readonly<Record<string, string>>;

export interface Context {
  readonly request: ServiceRequest;
  /** Decoded path without the version prefix, with aliases replaced by ids. */
  readonly path: string;
  /** Ids in the path that their kinds accept. A handler runs only if every id in its path is accepted. */
  readonly ids: PathIds;
  readonly parameters: PathParameters;
  /** Decoded query parameters in the order sent. */
  readonly query: readonly (readonly [string, string])[];
  readonly unit: UnitOfWork;
  readonly caller: Caller;
  /** Faults in headers, parameters and body found so far; reported together once access is granted. */
  readonly issues: Issue[];
  /** Arrival of the request in milliseconds since 1970 UTC. */
  readonly now: number;
  /** Runs another request inside the same unit of work, as for an entry of a batch. */
  readonly dispatch: (request: ServiceRequest) => Promise<ServiceResponse>;
  /**
   * Authenticates requests that will be dispatched before anything is locked, where that may take long. Results and
   * failures take effect when the requests are dispatched.
   */
  readonly authenticate: (requests: readonly ServiceRequest[]) => Promise<void>;
  /**
   * Begins the same request again, for work that goes on after the response has begun: authenticates the caller again, and
   * reads the state of that moment.
   */
  readonly renew: () => Promise<Renewal>;
}

/** A request that began again. */
export interface Renewal {
  readonly context: Context;
  /** Ends its unit of work: calls subscribers, and commits what was written. */
  readonly end: () => Promise<void>;
}
