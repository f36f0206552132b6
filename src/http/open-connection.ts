// Connections whose response goes on: the stream of an open body, and the signal that a waiting client is gone.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnection } from '../engine/exchange.ts';

/** Bytes with the frame of a chunk around them. Node would send the frame in further writes for each connection. */
const chunks = new WeakMap<Uint8Array, Buffer>();

function chunkOf(bytes: Uint8Array): Buffer {
  let chunk = chunks.get(bytes);
  if (chunk === undefined) {
    chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, lineEnd]);
    chunks.set(bytes, chunk);
  }
  return chunk;
}

const lineEnd = Buffer.from('\r\n');

/** Wraps a response whose head is written. Until the body ends, its connection is not closed for silence. */
export class OpenResponse implements OpenConnection {
  readonly #outgoing: ServerResponse;
  readonly #timeoutMs: number;
  readonly reserve: OpenConnection['reserve'];
  #whenDrained: (() => void) | undefined;
  readonly #whenClosed: (() => void)[] = [];
  #isClosed = false;
  readonly #written = (): void => {
    if (this.#outgoing.writableLength === 0) this.#whenDrained?.();
  };

  /** @param timeoutMs time of silence after which the connection is closed once the body has ended */
  constructor(outgoing: ServerResponse, timeoutMs: number, reserve: OpenConnection['reserve']) {
    this.#outgoing = outgoing;
    this.#timeoutMs = timeoutMs;
    this.reserve = reserve;
    outgoing.socket?.setTimeout(0);
    // Proxies and clients learn that the response has begun, and small frames leave at once.
    outgoing.socket?.setNoDelay(true);
    outgoing.flushHeaders();
    this.#watchEnd();
  }

  get bufferedBytes(): number {
    return this.#outgoing.writableLength;
  }

  write(bytes: Uint8Array): void {
    // Several streams may share the connection, and the first that ends ends it for all.
    if (this.#outgoing.writableEnded) return;
    const { socket, chunkedEncoding } = this.#outgoing;
    // A response that waits for earlier ones of its connection has no socket yet.
    if (socket === null || !chunkedEncoding) this.#outgoing.write(bytes, this.#written);
    else socket.write(chunkOf(bytes), this.#written);
  }

  onDrain(task: () => void): void {
    this.#whenDrained = task;
  }

  onClose(task: () => void): void {
    if (this.#isClosed) task();
    else this.#whenClosed.push(task);
  }

  end(): void {
    // A client that has vanished never takes the last bytes.
    this.#outgoing.socket?.setTimeout(this.#timeoutMs);
    this.#outgoing.end();
  }

  destroy(): void {
    this.#outgoing.destroy();
  }

  #watchEnd(): void {
    const { socket } = this.#outgoing;
    const close = (): void => {
      socket?.off('end', close);
      this.#isClosed = true;
      for (const task of this.#whenClosed.splice(0)) task();
    };
    this.#outgoing.once('close', close);
    // The server lets clients close their half of a connection early. One that does so no longer follows.
    socket?.once('end', close);
    if (this.#outgoing.closed || socket === null || socket.readableEnded) close();
  }
}

/**
 * Waits for a response that is known only later. Meanwhile the connection is not closed for silence. Clients are answered
 * without a wait when they have closed their half of the connection, and while an earlier response of the connection is not
 * sent: otherwise one connection could hold any number of waiting requests.
 *
 * @param later gets a signal that is aborted when the client does not wait
 * @param timeoutMs time of silence after which the connection is closed again once the response is there
 */
export async function whileWaiting<T>(
  { socket }: IncomingMessage,
  outgoing: ServerResponse,
  timeoutMs: number,
  later: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // A response without a socket is queued behind others.
  if (socket.destroyed || socket.readableEnded || outgoing.socket === null) return later(AbortSignal.abort());
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort();
  };
  socket.setTimeout(0);
  socket.once('end', abort).once('close', abort);
  try {
    return await later(controller.signal);
  } finally {
    socket.off('end', abort).off('close', abort);
    socket.setTimeout(timeoutMs);
  }
}

/**
 * Calls the listener with `true` when the connection is closed, and with `false` when the client has closed it or only half of it:
 * which of the two is not known before something is sent. Returns what ends that.
 */
export function whenGone(socket: Socket, listener: (isCertain: boolean) => void): () => void {
  const end = (): void => listener(false);
  const close = (): void => listener(true);
  if (socket.destroyed) {
    close();
    return () => {};
  }
  if (socket.readableEnded) end();
  // Clients may pipeline many requests.
  socket.setMaxListeners(0);
  socket.once('end', end).once('close', close);
  return () => {
    socket.off('end', end).off('close', close);
  };
}
