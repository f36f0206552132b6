// Addresses that stand for others, such as the personal bucket for whoever calls.
import type { Caller } from '../engine/caller.ts';
import type { ServiceRequest } from '../engine/exchange.ts';
import type { UnitOfWork } from '../engine/unit-of-work.ts';

export interface AliasRequest {
  readonly request: ServiceRequest;
  /** Decoded path below the version prefix, as the client wrote it. */
  readonly path: string;
  readonly unit: UnitOfWork;
  readonly caller: Caller;
}

export interface AliasedRequest {
  /** The path to serve instead. */
  readonly path: string;
  readonly request: ServiceRequest;
  /** Writes what the request takes for granted. Runs once every id in the path is known to be acceptable. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

export interface Alias {
  /** This path, and everything below it. */
  readonly path: string;
  /**
   * Returns the address that this one stands for, and writes nothing. Asked once the method is known to be served there.
   * Not asked for preflights.
   */
  readonly resolve: (request: AliasRequest) => Promise<AliasedRequest>;
}
