// Response batching: responses that are ready in one turn of the event loop are written together. Consecutive system calls take
// about two thirds of the processor time of writes between the handling of other requests.
import type { ServerResponse } from 'node:http';

interface PendingResponse {
  readonly outgoing: ServerResponse;
  readonly body: string | Uint8Array;
  readonly encoding: BufferEncoding;
  /** Called when the socket does not accept all of it at once. */
  readonly whenUnsent: (() => void) | undefined;
}

class ResponseBatcher {
  #waiting: PendingResponse[] = [];

  /**
   * Ends a response, whose head is written, with its whole body; empty for none.
   *
   * @param encoding encoding of a text; `latin1` is faster for ASCII
   * @param whenUnsent called when a part stays buffered because the client does not read
   */
  add(
    outgoing: ServerResponse,
    body: string | Uint8Array,
    encoding: BufferEncoding = 'utf8',
    whenUnsent?: () => void,
  ): void {
    if (this.#waiting.length === 0) {
      process.nextTick(() => {
        this.#leave();
      });
    }
    this.#waiting.push({ outgoing, body, encoding, whenUnsent });
  }

  #leave(): void {
    const leaving = this.#waiting;
    this.#waiting = [];
    for (const { outgoing, body, encoding, whenUnsent } of leaving) {
      if (body.length === 0) outgoing.end();
      else outgoing.end(body, encoding);
      if (outgoing.writableLength > 0) whenUnsent?.();
    }
  }
}

/** The batcher of this process. */
export const responseBatcher = new ResponseBatcher();
