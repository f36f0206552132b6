// Work that is prepared side by side and takes effect in the order in which it was asked for.

export class InOrder {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Does the work once it is prepared, and everything asked for before has been done or has failed.
   *
   * @throws whatever the preparation or the work throws; others do not suffer from it
   */
  run<P, T>(preparing: Promise<P>, work: (prepared: P) => T | Promise<T>): Promise<T> {
    const result = doAfter(this.#last, preparing, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

async function doAfter<P, T>(
  before: Promise<unknown>,
  preparing: Promise<P>,
  work: (prepared: P) => T | Promise<T>,
): Promise<T> {
  const prepared = await preparing;
  await before;
  return work(prepared);
}
