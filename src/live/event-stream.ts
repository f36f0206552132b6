// Where frames go: the connection of one client, as an event stream.
import type { OpenConnection } from '../engine/exchange.ts';
import { drawRetryMs, type Frames } from './frames.ts';

/** Takes the frames of a stream. */
export interface FrameSink {
  /** Number of bytes that the client has not taken yet. */
  readonly bufferedBytes: number;
  send(frames: Frames): void;
  /**
   * Reserves memory for frames until the client has taken them.
   *
   * @returns whether others leave enough
   */
  hold(frames: Frames): boolean;
  /** Reserves memory for the work on frames; see `OpenConnection.reserve`. */
  readonly reserve: OpenConnection['reserve'];
  /** Shows the client that the connection lives. */
  beat(): void;
  /** Calls the task each time the client has taken everything. */
  onDrain(task: () => void): void;
  /** Calls the task when the client is gone. */
  onClose(task: () => void): void;
  /** Ends the stream after what was sent. */
  end(): void;
  /** Ends the stream at once. */
  destroy(): void;
}

/** Comment that clients ignore. */
export const heartbeat = Buffer.from(':\n\n');

/** Begins an event stream with the time after which the client reconnects, different for each client. */
export function beginEvents(connection: OpenConnection): void {
  connection.write(Buffer.from(`retry: ${drawRetryMs()}\n\n`));
}

/** The reservations of what a connection has yet to send. */
export class HeldMemory {
  #releases: (() => void)[] = [];

  /** @returns whether the memory is reserved */
  add(release: (() => void) | undefined): release is () => void {
    if (release !== undefined) this.#releases.push(release);
    return release !== undefined;
  }

  /** Releases everything, when all is sent or the client is gone. */
  readonly release = (): void => {
    if (this.#releases.length === 0) return;
    for (const release of this.#releases.splice(0)) release();
  };
}

/** The event stream of one list. */
export class EventStream implements FrameSink {
  readonly #connection: OpenConnection;
  readonly #held = new HeldMemory();
  readonly reserve: OpenConnection['reserve'];

  constructor(connection: OpenConnection) {
    this.#connection = connection;
    this.reserve = connection.reserve;
    connection.onClose(this.#held.release);
    beginEvents(connection);
  }

  get bufferedBytes(): number {
    return this.#connection.bufferedBytes;
  }

  send(frames: Frames): void {
    this.#connection.write(frames.bytes);
  }

  hold(frames: Frames): boolean {
    return this.#held.add(frames.hold(this.reserve));
  }

  beat(): void {
    this.#connection.write(heartbeat);
  }

  onDrain(task: () => void): void {
    this.#connection.onDrain(() => {
      this.#held.release();
      task();
    });
  }

  onClose(task: () => void): void {
    this.#connection.onClose(task);
  }

  end(): void {
    this.#connection.end();
  }

  destroy(): void {
    this.#connection.destroy();
  }
}
