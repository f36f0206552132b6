// The network of one client, which can be switched off or delay streams, and turns for a client that must synchronise alone.
import { HeldStream } from '../held-stream.ts';

/** Lets one client synchronise while no other one writes. */
export class Turns {
  readonly #writes = new Set<Promise<unknown>>();
  #alone: Promise<void> | undefined;

  async write<R>(run: () => Promise<R>): Promise<R> {
    while (this.#alone !== undefined) await this.#alone;
    const writing = run();
    this.#writes.add(writing);
    try {
      return await writing;
    } finally {
      this.#writes.delete(writing);
    }
  }

  async alone<R>(run: () => Promise<R>): Promise<R> {
    let end!: () => void;
    this.#alone = new Promise((resolve) => {
      end = resolve;
    });
    try {
      await Promise.allSettled(this.#writes);
      return await run();
    } finally {
      this.#alone = undefined;
      end();
    }
  }
}

export class Network {
  readonly #turns: Turns;
  /** Its events can be delayed, while requests are answered. */
  readonly stream = new HeldStream((url, init) => this.#send(url, init));
  #connection: AbortController | undefined = new AbortController();

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  get isOnline(): boolean {
    return this.#connection !== undefined;
  }

  /** Switches the network on, or off: then all requests fail, also those under way. */
  set isOnline(isOnline: boolean) {
    if (isOnline) this.#connection ??= new AbortController();
    else {
      this.#connection?.abort();
      this.#connection = undefined;
    }
  }

  readonly fetch: typeof fetch = (url, init) => this.stream.fetch(url, init);

  readonly #send: typeof fetch = (url, init = {}) => {
    const { method = 'GET', signal } = init;
    const send = async (): Promise<Response> => {
      if (this.#connection === undefined) throw new TypeError('no network');
      const signals = [this.#connection.signal, ...(signal ? [signal] : [])];
      return fetch(url, { ...init, signal: AbortSignal.any(signals) });
    };
    return method === 'GET' || method === 'HEAD' ? send() : this.#turns.write(send);
  };
}
