// Work that is prepared concurrently and takes effect in the order of the calls.

export class InOrder {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Runs the work once it is prepared and all earlier work has succeeded or failed.
   *
   * @throws the error of the preparation or of the work; it does not affect later work
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
