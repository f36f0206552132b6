// Connections whose response goes on: the stream of an open body, and the signal that a waiting client is gone.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OpenConnection } from '../engine/exchange.ts';

/** Wraps a response whose head is written. Until the body ends, its connection is not closed for silence. */
export class OpenResponse implements OpenConnection {
  readonly #outgoing: ServerResponse;
  readonly #timeoutMs: number;
  #whenDrained: (() => void) | undefined;
  readonly #written = (): void => {
    if (this.#outgoing.writableLength === 0) this.#whenDrained?.();
  };

  /** @param timeoutMs time of silence after which the connection is closed once the body has ended */
  constructor(outgoing: ServerResponse, timeoutMs: number) {
    this.#outgoing = outgoing;
    this.#timeoutMs = timeoutMs;
    outgoing.socket?.setTimeout(0);
    // Proxies and clients learn that the response has begun, and small frames leave at once.
    outgoing.socket?.setNoDelay(true);
    outgoing.flushHeaders();
  }

  get bufferedBytes(): number {
    return this.#outgoing.writableLength;
  }

  write(bytes: Uint8Array): void {
    this.#outgoing.write(bytes, this.#written);
  }

  onDrain(task: () => void): void {
    this.#whenDrained = task;
  }

  onClose(task: () => void): void {
    if (this.#outgoing.closed) task();
    else this.#outgoing.once('close', task);
  }

  end(): void {
    // A client that has vanished never takes the last bytes.
    this.#outgoing.socket?.setTimeout(this.#timeoutMs);
    this.#outgoing.end();
  }

  destroy(): void {
    this.#outgoing.destroy();
  }
}

/**
 * Waits for a response that is known only later. Meanwhile the connection is not closed for silence.
 *
 * @param later gets a signal that is aborted when the connection has ended
 * @param timeoutMs time of silence after which the connection is closed again once the response is there
 */
export async function whileWaiting<T>(
  { socket }: IncomingMessage,
  timeoutMs: number,
  later: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort();
  };
  if (socket.destroyed) abort();
  socket.setTimeout(0);
  socket.once('close', abort);
  try {
    return await later(controller.signal);
  } finally {
    socket.off('close', abort);
    socket.setTimeout(timeoutMs);
  }
}
