// Slow work of a request, such as hashing a password or waiting for memory, which is done while the request holds neither
// locks nor what it has read.

/**
 * The request has to wait for work. What it has done so far is undone, because others would wait for its locks, and the
 * objects that it has read would take memory meanwhile. It runs again as a whole once the work is done.
 */
export class WorkAwaited extends Error {
  /** Does the work; rejects with the error that ends the request. */
  readonly work: () => Promise<void> | undefined;

  constructor(work: WorkAwaited['work']) {
    super('the request waits for work that holds no locks');
    this.name = 'WorkAwaited';
    this.work = work;
  }
}

/** The results of slow work that one request needs, kept from each attempt at it to the next. */
export class WorkAhead {
  readonly #results = new Map<string, unknown[]>();
  /** Number of results that the current attempt has used, by key. */
  readonly #used = new Map<string, number>();

  /** Begins another attempt. */
  restart(): void {
    this.#used.clear();
  }

  /**
   * Returns the result of work, which is done now unless the request holds locks. The work of several calls with one key in
   * one attempt is done once for each of them.
   *
   * @throws WorkAwaited when the request holds locks and an earlier attempt has not done the work
   */
  async run<T>(key: string, holdsLocks: boolean, work: () => Promise<T>): Promise<T> {
    const results = this.#results.get(key) ?? [];
    const number = this.#used.get(key) ?? 0;
    const keep = async (): Promise<void> => {
      results[number] = await work();
      this.#results.set(key, results);
    };
    if (number === results.length) {
      if (holdsLocks) throw new WorkAwaited(keep);
      await keep();
    }
    this.#used.set(key, number + 1);
    return results[number] as T;
  }
}
