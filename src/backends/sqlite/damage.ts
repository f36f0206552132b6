// Known damage of the file. SQLite reports damage to the statement that reads a damaged page, and the heartbeat reads
// others. So the failure is kept until the service is started again on a repaired file.
import type { BackendUnavailable } from '../../contracts/errors.ts';
import { isDamage, translateError } from './errors.ts';

export class Damage {
  #found: BackendUnavailable | undefined;

  /** The first failure that damage has caused. */
  get found(): BackendUnavailable | undefined {
    return this.#found;
  }

  /** Keeps an error, of the driver or translated, when it reports a damaged file. */
  note(error: unknown): void {
    if (this.#found === undefined && isDamage(error)) {
      this.#found = translateError(error, 'storage') as BackendUnavailable;
    }
  }
}
