// Pushes that are under way. RxDB ignores a state that it receives for a document with an edit that it regards as not sent, and
// never asks for it again. So a state that others have written on top of a push waits until the push is known as sent.

export class PushesUnderWay {
  #keys: ReadonlySet<string> = new Set();
  #end: Promise<unknown> = Promise.resolve();

  /** Runs a push of documents with these primary keys. There is one at a time. */
  async during<T>(keys: readonly string[], push: () => Promise<T>): Promise<T> {
    this.#keys = new Set(keys);
    const pushing = push().finally(() => {
      this.#keys = new Set();
    });
    this.#end = pushing.catch(() => undefined);
    return pushing;
  }

  /** Waits for the end of the push under way, if it is of one of these documents. Later pushes come after what was received. */
  async end(keys: readonly string[]): Promise<void> {
    if (keys.some((key) => this.#keys.has(key))) await this.#end;
  }
}
