// The client for which a backend works.
import type { Waiting } from '../base/fair-turns.ts';

export interface Requester extends Waiting {
  /**
   * User id, or the network of an anonymous client. It is known at the latest when access is checked, so it is read when it is
   * needed. Where work has to wait, each party waits for its own work and for a share of that of others.
   */
  readonly party: string | undefined;
}

/** Work of the service itself. */
export const noRequester: Requester = { party: undefined };
