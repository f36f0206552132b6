// Slow work of a request, such as hashing a password or waiting for memory, which is done while the request holds neither
// locks nor what it has read.

/**
 * The request has to wait for work. What it has done so far is undone, because others would wait for its locks, and the
 * objects that it has read would take memory meanwhile. It runs again as a whole once the work is done.
 */
export class WorkAwaited extends Error {
  /** Does the work; rejects with the error that ends the request. */
  readonly work: () => Promise<void> | undefined;

  /**
   * Whether a batch runs its other entries first, to find out what work they need, because it then runs again once and not for
   * each of them. Not when memory is scarce.
   */
  readonly isGathered: boolean;

  constructor(work: WorkAwaited['work'], isGathered = false) {
    super('the request waits for work that holds no locks');
    this.name = 'WorkAwaited';
    this.work = work;
    this.isGathered = isGathered;
  }

  /** Returns one that waits for the work of all. */
  static all(awaited: readonly WorkAwaited[]): WorkAwaited {
    return new WorkAwaited(async () => {
      for (const { work } of awaited) await work();
    });
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

  /** Returns whether an earlier attempt has done work of the key. */
  has(key: string): boolean {
    return (this.#results.get(key)?.length ?? 0) > 0;
  }

  /**
   * Returns the result of work, which is done now unless the request holds locks. The work of several calls with one key in
   * one attempt is done once for each of them.
   *
   * @throws WorkAwaited when the request holds locks and an earlier attempt has not done the work
   */
  async run<T>(key: string, holdsLocks: boolean, work: () => Promise<T>): Promise<T> {
    const number = this.#used.get(key) ?? 0;
    this.#used.set(key, number + 1);
    const results = this.#results.get(key) ?? [];
    this.#results.set(key, results);
    const keep = async (): Promise<void> => {
      results[number] = await work();
    };
    if (!(number in results)) {
      if (holdsLocks) throw new WorkAwaited(keep, true);
      await keep();
    }
    return results[number] as T;
  }
}
