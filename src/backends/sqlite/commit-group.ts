// The units of work that share one COMMIT, and therefore one outcome.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { translateError } from './errors.ts';
import { Changes } from './read-cache.ts';

export class CommitGroup {
  /** Settles when the group is durable or lost; for background work only, when it is committed. */
  readonly outcome: Promise<void>;
  readonly startedAt: number;
  /** Changes of its units, including those that were rolled back. */
  readonly changes = new Changes();
  units = 0;
  /** Whether its last unit has begun. */
  isClosed = false;
  /** Whether a unit is reported as durable. */
  mustLast = false;
  /** Duration of COMMIT without the flush, during which the event loop was blocked. */
  commitMs = 0;
  /** The failure that prevents the commit of the group. */
  failure: BackendUnavailable | undefined;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A group may have only units that were rolled back, which its failure does not affect.
    this.outcome.catch(() => undefined);
  }

  /** Whether another unit may join. */
  get takesUnits(): boolean {
    return this.failure === undefined && !this.isClosed;
  }

  /** Reports to all units that their writes are durable, unless the group has failed. */
  succeed(): void {
    this.#resolve();
  }

  /**
   * Reports to all units, including later ones, that no write of the group was kept. The first error counts.
   *
   * @param isUndone whether this is certain: the commit has not begun, or was refused
   */
  fail(error: unknown, isUndone: boolean): BackendUnavailable {
    if (this.failure === undefined) {
      const translated = translateError(error, 'storage', isUndone);
      this.failure =
        translated instanceof BackendUnavailable
          ? translated
          : new BackendUnavailable('storage', 'SQLite: the transaction was lost', { cause: error, isUndone });
      this.#reject(this.failure);
    }
    return this.failure;
  }
}
