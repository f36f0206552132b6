// Checkpoints after a failure of the storage. RxDB drops the documents that it could not store, goes on, and would store the checkpoint
// of later ones: nothing would ask for the dropped ones again.
import type { AnyReplication } from './local.ts';
import type { CofferCheckpoint } from './options.ts';

/** Number of failures before a checkpoint, on its way through RxDB, which copies checkpoints. */
const failuresBefore = Symbol('failures');

type Marked = CofferCheckpoint & { readonly [failuresBefore]?: number };

export class Checkpoints {
  readonly #state: () => AnyReplication;
  #failures = 0;

  constructor(state: () => AnyReplication) {
    this.#state = state;
  }

  /** Returns where a pull begins: at a checkpoint, or at the one that is stored if documents were dropped since. */
  begin(checkpoint: Marked | undefined): Marked {
    const { lastCheckpointDoc } = this.#state().internalReplicationState!;
    const stored = lastCheckpointDoc.down?.checkpointData as Marked | undefined;
    const { since = '0' } = (this.isOutdated(checkpoint) ? stored : checkpoint) ?? {};
    return { since, [failuresBefore]: this.#failures };
  }

  /** Returns whether documents may have been dropped since the pull that a checkpoint belongs to. */
  isOutdated(checkpoint: Marked | undefined): boolean {
    return (checkpoint?.[failuresBefore] ?? this.#failures) < this.#failures;
  }

  /** Keeps RxDB from storing outdated checkpoints. Calls the function each time that documents were dropped. */
  guard(onDropped: () => void): void {
    const { input, events } = this.#state().internalReplicationState!;
    const { metaInstance } = input;
    const write = metaInstance.bulkWrite.bind(metaInstance);
    metaInstance.bulkWrite = (rows, context) => {
      for (const { document } of rows) {
        if (document.isCheckpoint === '1' && document.itemId === 'down') {
          document.checkpointData = { since: this.begin(document.checkpointData as Marked).since };
        }
      }
      return write(rows, context);
    };
    this.#state().subs.push(
      events.error.subscribe((error) => {
        // Its own errors name documents that the collection cannot have.
        if ((error as { readonly rxdb?: true }).rxdb) return;
        this.#failures += 1;
        onDropped();
      }),
    );
  }
}
