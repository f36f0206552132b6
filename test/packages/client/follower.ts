// A consumer of live updates that keeps a copy, as applications do.
import type { LiveUpdate, Stored } from '../../../packages/client/src/index.ts';
import { isRemoval } from '../../../packages/client/src/index.ts';

export class Follower<T> {
  readonly copy = new Map<string, Stored<T>>();
  readonly updates: LiveUpdate<Stored<T>>[] = [];
  /** Resolves when the iteration ends, with the error that ended it. */
  readonly ended: Promise<unknown>;
  readonly #iterator: AsyncIterator<LiveUpdate<Stored<T>>>;
  #wake: (() => void)[] = [];
  #hasEnded = false;

  constructor(updates: AsyncIterable<LiveUpdate<Stored<T>>>) {
    this.#iterator = updates[Symbol.asyncIterator]();
    this.ended = this.#run();
  }

  get last(): LiveUpdate<Stored<T>> | undefined {
    return this.updates.at(-1);
  }

  get resyncs(): readonly string[] {
    return this.updates.flatMap(({ resync }) => (resync === undefined ? [] : [resync]));
  }

  /** Resolves when the copy is complete and the condition holds. */
  async until(holds: (follower: this) => boolean = () => true): Promise<void> {
    while (!(this.last?.current === true && holds(this))) {
      if (this.#hasEnded) throw new Error('the iteration has ended', { cause: await this.ended });
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
      });
    }
  }

  async stop(): Promise<void> {
    await this.#iterator.return?.();
    await this.ended;
  }

  async #run(): Promise<unknown> {
    try {
      for (;;) {
        const { done, value } = await this.#iterator.next();
        if (done === true) return undefined;
        this.#apply(value);
      }
    } catch (error) {
      return error;
    } finally {
      this.#hasEnded = true;
      this.#notify();
    }
  }

  #apply(update: LiveUpdate<Stored<T>>): void {
    if (update.resync !== undefined) this.copy.clear();
    for (const change of update.changes) {
      if (isRemoval(change)) this.copy.delete(change.id);
      else this.copy.set(change.id, change);
    }
    this.updates.push(update);
    this.#notify();
  }

  #notify(): void {
    const tasks = this.#wake;
    this.#wake = [];
    for (const task of tasks) task();
  }
}
