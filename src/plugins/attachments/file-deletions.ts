// Deletes unlinked files after the commit. `coffer attachments-clean` finds files whose deletion failed.
import type { BlobStore } from '../../contracts/blobs.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';

/** Maximum number of files whose deletion a response waits for. */
const maxAwaited = 100;
const concurrency = 8;

export class FileDeletions {
  readonly #store: BlobStore;
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(store: BlobStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Deletes the files when the unit of work is committed. */
  afterCommit(unit: UnitOfWork, names: readonly string[]): void {
    if (names.length === 0) return;
    unit.afterCommit(async () => {
      const done = this.#track(this.#deleteAll(names));
      if (names.length <= maxAwaited) await done;
    });
  }

  /** Deletes one file now. Failures are logged. */
  async delete(name: string): Promise<void> {
    try {
      await this.#store.delete(name);
    } catch (error) {
      this.#logger.warn({ err: error, file: name }, 'An attachment could not be deleted');
    }
  }

  /** Waits for running deletions. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
    return tracked;
  }

  async #deleteAll(names: readonly string[]): Promise<void> {
    const left = names.values();
    await Promise.all(
      Array.from({ length: Math.min(concurrency, names.length) }, async () => {
        for (const name of left) await this.delete(name);
      }),
    );
  }
}
