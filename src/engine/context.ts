// What the handler of one request (or of one entry of a batch) works with.
import type { Issue } from '../core/errors.ts';
import type { PathIds } from '../core/objects/object-id.ts';
import type { Caller } from './caller.ts';
import type { ServiceRequest, ServiceResponse } from './exchange.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** Parts of the path that are no ids of objects, by name, as their rules accept them: `timestamp`, `*`. */
export type PathParameters = Readonly<Record<string, string>>;

export interface Context {
  readonly request: ServiceRequest;
  /** Decoded path without the version prefix, aliases replaced by the real ids. */
  readonly path: string;
  /** Ids in the path that their kinds accept. A handler runs only when these are all that its path names. */
  readonly ids: PathIds;
  readonly parameters: PathParameters;
  /** Decoded query parameters in the order sent. */
  readonly query: readonly (readonly [string, string])[];
  readonly unit: UnitOfWork;
  readonly caller: Caller;
  /** Wrong headers, parameters and body members found so far; reported together once access is granted. */
  readonly issues: Issue[];
  /** Milliseconds since 1970 UTC at which the request arrived. */
  readonly now: number;
  /** Answers another request inside the same unit of work, as an entry of a batch. */
  readonly dispatch: (request: ServiceRequest) => Promise<ServiceResponse>;
  /**
   * Finds out who sends requests that are to be dispatched, where that takes a while, before anything is locked. What
   * comes out, failures included, is seen when they are dispatched.
   */
  readonly authenticate: (requests: readonly ServiceRequest[]) => Promise<void>;
}
