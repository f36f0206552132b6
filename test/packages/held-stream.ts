// A network whose event streams wait: their events arrive when a test lets them, in the order of the service.

import { setImmediate } from 'node:timers/promises';

type Fetch = typeof fetch;

export class HeldStream {
  /** Whether events wait. */
  isHeld = false;
  /** Events that wait, the oldest first, and those who wait for them. */
  readonly #events: { readonly text: string; readonly pass: () => void }[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #send: Fetch;

  constructor(send: Fetch = fetch) {
    this.#send = send;
  }

  readonly fetch: Fetch = async (url, init) => {
    const response = await this.#send(url, init);
    if (response.headers.get('Content-Type')?.startsWith('text/event-stream') !== true) return response;
    return new Response(this.#gate(response.body!), { status: response.status, headers: response.headers });
  };

  /** From now on, events wait. */
  hold(): void {
    this.isHeld = true;
  }

  /** Resolves when an event that contains the text waits. */
  async has(text: string): Promise<void> {
    while (!this.#events.some((event) => event.text.includes(text))) {
      await new Promise<void>((resolve) => {
        this.#listeners.add(resolve);
      });
      this.#listeners.clear();
    }
  }

  /** Lets the events up to the first one that contains the text arrive; without a text all, and no further ones wait. */
  release(text?: string): void {
    if (text === undefined) this.isHeld = false;
    const last = text === undefined ? Infinity : this.#events.findIndex((event) => event.text.includes(text));
    for (const event of this.#events.splice(0, last + 1)) event.pass();
  }

  /** Lets everything arrive that waits, once an event that contains the text does, and gives its reader time to take it. */
  async deliver(text: string): Promise<void> {
    await this.has(text);
    this.release();
    for (let turn = 0; turn < 100; turn++) await setImmediate();
  }

  #gate(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const encoder = new TextEncoder();
    let isOver = false;
    const copy = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      let rest = '';
      for (;;) {
        const { done, value = '' } = await reader.read();
        if (done) break;
        const parts = (rest + value).split('\n\n');
        rest = parts.pop()!;
        for (const part of parts) {
          const text = `${part}\n\n`;
          const pass = (): void => {
            if (!isOver) controller.enqueue(encoder.encode(text));
          };
          if (this.isHeld) this.#events.push({ text, pass });
          else pass();
          for (const listener of this.#listeners) listener();
        }
      }
      if (!isOver) controller.close();
      isOver = true;
    };
    return new ReadableStream({
      start: (controller) => {
        copy(controller).catch((error: unknown) => {
          if (!isOver) controller.error(error);
          isOver = true;
        });
      },
      cancel: async (reason) => {
        isOver = true;
        await reader.cancel(reason);
      },
    });
  }
}
