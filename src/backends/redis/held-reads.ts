// Reads of lists that are written all the time. Reads of several pieces start again when the list has changed in between. After
// some attempts they wait for the list like a writer, and the writers of all processes wait for them.
import { FairTurns } from '../../base/fair-turns.ts';
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import type { Requester } from '../../contracts/requester.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Leases } from './leases.ts';
import type { ListOverlay } from './list-overlay.ts';
import type { RedisUnit } from './unit.ts';

export interface HeldReadsHost {
  readonly leases: Leases;
  beginUnit(): RedisUnit;
}

export class HeldReads {
  readonly #host: HeldReadsHost;
  /** Admits one read at a time, or two while one takes long, so that writers of a list wait for few. */
  readonly #turns = new FairTurns({ atOnce: 1, ofParty: 1, lateMs: 500 });

  constructor(host: HeldReadsHost) {
    this.#host = host;
  }

  /**
   * Runs a read of a list while no unit writes it.
   *
   * @param read gets the empty overlay of the version that is held
   * @throws BackendUnavailable when another process does not release the list
   */
  run<T>(list: ListKey, requester: Requester, read: (overlay: ListOverlay) => Promise<T>): Promise<T> {
    return this.#turns.run(requester, async () => {
      this.#host.leases.expectContention(list);
      const unit = this.#host.beginUnit();
      try {
        return await read(await unit.overlay(list));
      } catch (error) {
        if (!(error instanceof TransactionConflict)) throw error;
        throw new BackendUnavailable('storage', 'another process holds a list for too long', { cause: error });
      } finally {
        await unit.rollback();
      }
    });
  }
}
