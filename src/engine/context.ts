// What the handler of one request (or of one entry of a batch) works with.
import type { Issue } from '../core/errors.ts';
import type { Caller } from './caller.ts';
import type { ServiceRequest, ServiceResponse } from './exchange.ts';
import type { Session } from './session.ts';

/** Ids found in the path, by name: `bucket_id`, `collection_id`, `record_id`. */
export type PathIds = Readonly<Record<string, string>>;

export interface Context {
  readonly request: ServiceRequest;
  /** Decoded path without the version prefix, aliases replaced by the real ids. */
  readonly path: string;
  readonly ids: PathIds;
  /** Decoded query parameters in the order sent. */
  readonly query: readonly (readonly [string, string])[];
  readonly session: Session;
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
