// The units of work that share one COMMIT, and therefore one outcome.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { translateError } from './errors.ts';
import { Changes } from './read-cache.ts';

export class CommitGroup {
  /** Settles when the group is known to be durable, or known to be lost; where nobody asks for that, when it is committed. */
  readonly outcome: Promise<void>;
  readonly startedAt: number;
  /** What its units have changed, those that were rolled back included. */
  readonly changes = new Changes();
  units = 0;
  /** Whether any of them is told that its writes are durable. */
  mustLast = false;
  /** How long COMMIT has kept everybody waiting, the flush not included. */
  commitMs = 0;
  /** Why the group can no longer be committed. */
  failure: BackendUnavailable | undefined;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A group may hold nothing but rolled-back units, whom its failure does not concern.
    this.outcome.catch(() => undefined);
  }

  /** Tells all units that their writes are durable, unless the group has failed. */
  succeed(): void {
    this.#resolve();
  }

  /** Tells all units, those to come included, that nothing of the group was kept. The first reason counts. */
  fail(error: unknown): BackendUnavailable {
    if (this.failure === undefined) {
      const translated = translateError(error, 'storage');
      this.failure =
        translated instanceof BackendUnavailable
          ? translated
          : new BackendUnavailable('storage', 'SQLite: the transaction was lost', { cause: error });
      this.#reject(this.failure);
    }
    return this.failure;
  }
}
