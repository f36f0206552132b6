// Logs once when hints cannot be exchanged, and once when they can be again.
import type { Logger } from '../../contracts/logger.ts';

/** Hints are sent and received in ways of their own, one of which may work while the other does not. */
export type Part = 'send' | 'receive';

export class Outage {
  readonly #logger: Logger;
  readonly #failing = new Set<Part>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  failed(part: Part, error: unknown): void {
    if (this.#failing.size === 0) {
      const what = 'Hints about changes cannot be exchanged with other processes; clients learn of their changes later';
      this.#logger.warn({ err: error }, what);
    }
    this.#failing.add(part);
  }

  works(part: Part): void {
    if (!this.#failing.delete(part) || this.#failing.size > 0) return;
    this.#logger.info('Hints about changes are exchanged with other processes again');
  }
}
