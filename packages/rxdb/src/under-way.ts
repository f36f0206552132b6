// Pushes that are under way. RxDB ignores a state that it receives for a document with an edit that it regards as not sent, and
// never asks for it again. So a state that others have written on top of a push waits until the push is known as sent.

import { rest } from './failures.ts';

/** Number of times that RxDB is asked for the outcome of a conflict. It does not say when it has failed to store one. */
const maxQuestions = 50;

export class PushesUnderWay {
  #keys: ReadonlySet<string> = new Set();
  #end: Promise<unknown> = Promise.resolve();
  /** By primary key, whether RxDB has stored the outcome of a conflict. */
  readonly #outcomes = new Map<string, () => Promise<boolean>>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Runs a push of documents with these primary keys. There is one at a time. */
  async during<T>(keys: readonly string[], push: () => Promise<T>): Promise<T> {
    this.#keys = new Set(keys);
    // RxDB pushes again when it has stored them.
    this.#outcomes.clear();
    const pushing = push().finally(() => {
      this.#keys = new Set();
    });
    this.#end = pushing.catch(() => undefined);
    return pushing;
  }

  /** Called before RxDB stores the state of the service as the outcome of a conflict. */
  expectOutcome(key: string, isStored: () => Promise<boolean>): void {
    this.#outcomes.set(key, isStored);
  }

  /** Returns whether a push of one of these documents is under way, or the outcome of its conflict is not stored. */
  concern(keys: readonly string[]): boolean {
    return keys.some((key) => this.#keys.has(key) || this.#outcomes.has(key));
  }

  /** Waits for the end of the push under way, and for outcomes. Later pushes come after what was received. */
  async end(keys: readonly string[]): Promise<void> {
    if (keys.some((key) => this.#keys.has(key))) await this.#end;
    for (const key of keys) {
      const isStored = this.#outcomes.get(key);
      if (isStored === undefined) continue;
      for (let asked = 0; asked < maxQuestions && !(await isStored()); asked++) await rest(asked, this.#signal);
      if (this.#outcomes.get(key) === isStored) this.#outcomes.delete(key);
    }
  }
}
