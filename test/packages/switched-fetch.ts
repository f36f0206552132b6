// A `fetch` whose network can be switched off, which also cuts open connections.

export class SwitchedFetch {
  #isOn = true;
  #cut = new AbortController();

  readonly fetch: typeof fetch = async (input, init = {}) => {
    if (!this.#isOn) throw new TypeError('no network');
    const signals = init.signal ? [init.signal, this.#cut.signal] : [this.#cut.signal];
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };

  off(): void {
    this.#isOn = false;
    this.#cut.abort();
  }

  on(): void {
    this.#isOn = true;
    this.#cut = new AbortController();
  }
}
