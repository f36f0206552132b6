// Finds workers that do not respond: processes that are stopped, and event loops that are blocked.

/** Number of unanswered checks in a timeout. */
const checksPerTimeout = 10;
const longestPeriodMs = 10_000;

/**
 * Counts the checks that a worker leaves unanswered.
 *
 * It counts checks instead of time, so a primary process that was suspended itself, or that gets little processor time, does
 * not take the replies that it has not read for silence.
 */
export class Watchdog<Member extends object> {
  readonly periodMs: number;
  readonly #limit: number;
  readonly #ping: (member: Member) => void;
  readonly #giveUp: (member: Member) => void;
  /** Number of checks since a ping without a reply. */
  readonly #missed = new WeakMap<Member, number>();

  constructor(
    timeoutMs: number,
    actions: { readonly ping: (member: Member) => void; readonly giveUp: (member: Member) => void },
  ) {
    this.periodMs = Math.min(timeoutMs / checksPerTimeout, longestPeriodMs);
    this.#limit = Math.ceil(timeoutMs / this.periodMs);
    this.#ping = actions.ping;
    this.#giveUp = actions.giveUp;
  }

  /** Pings the members that answered, and gives up those that did not answer in time. Call it once in `periodMs`. */
  check(members: Iterable<Member>): void {
    for (const member of members) {
      const missed = this.#missed.get(member);
      this.#missed.set(member, missed === undefined ? 0 : missed + 1);
      if (missed === undefined) this.#ping(member);
      else if (missed + 1 === this.#limit) this.#giveUp(member);
    }
  }

  /** Notes an answer to a ping. */
  noteReply(member: Member): void {
    this.#missed.delete(member);
  }
}
