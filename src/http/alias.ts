// Aliases: paths that are replaced by others, such as the personal bucket of the caller.
import type { Caller } from '../engine/caller.ts';
import type { ServiceRequest } from '../engine/exchange.ts';
import type { UnitOfWork } from '../engine/unit-of-work.ts';

export interface AliasRequest {
  readonly request: ServiceRequest;
  /** Decoded path below the version prefix, as sent. */
  readonly path: string;
  readonly unit: UnitOfWork;
  readonly caller: Caller;
}

export interface AliasedRequest {
  /** The actual path. */
  readonly path: string;
  readonly request: ServiceRequest;
  /** Creates the objects that the request requires. Runs after all ids in the path are accepted. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

export interface Alias {
  /** The alias covers this path and all paths below it. */
  readonly path: string;
  /**
   * Returns the actual path, without writes. Called after the method is known to be supported; not called for preflights.
   */
  readonly resolve: (request: AliasRequest) => Promise<AliasedRequest>;
}
