// What is known about damage of the file. SQLite reports it to the statement that reads a damaged page, and the heartbeat
// reads others. So it is remembered until the service is started again, on a file that was repaired.
import type { BackendUnavailable } from '../../contracts/errors.ts';
import { isDamage, translateError } from './errors.ts';

export class Damage {
  #found: BackendUnavailable | undefined;

  /** The first failure that damage has caused. */
  get found(): BackendUnavailable | undefined {
    return this.#found;
  }

  /** Remembers an error, of the driver or translated, if it says that the file is damaged. */
  note(error: unknown): void {
    if (this.#found === undefined && isDamage(error)) {
      this.#found = translateError(error, 'storage') as BackendUnavailable;
    }
  }
}
