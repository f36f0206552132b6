// The client for which a backend works.
import type { Waiting } from '../base/fair-turns.ts';

export interface Requester extends Waiting {
  /**
   * The network of the client, and the user id after a space, which is absent for an anonymous client. It is known at the latest
   * when access is checked, so it is read when it is needed. Where work has to wait, each network waits for its own work and
   * for a share of that of others, and so does each user of a network.
   */
  readonly party: string | undefined;
}

/** Work of the service itself. */
export const noRequester: Requester = { party: undefined };
