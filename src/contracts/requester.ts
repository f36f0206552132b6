// The client for which a backend works.

export interface Requester {
  /**
   * User id, or the network of an anonymous client. It is known at the latest when access is checked, so it is read when it is
   * needed. Where work has to wait, each party waits for its own work and for a share of that of others. `undefined`: unknown;
   * all unknown ones are one party.
   */
  readonly party: string | undefined;
}
