// UDP sender that batches lines into datagrams. Lines that cannot be sent are lost, as usual with StatsD, and a warning
// is logged once.
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Logger } from '../../contracts/logger.ts';

/** Maximum datagram size that most networks do not fragment. */
const maxBytes = 1400;
const delayMs = 100;

export class Datagrams {
  readonly #socket: Socket;
  readonly #logger: Logger;
  readonly #host: string;
  readonly #port: number;
  #lines: string[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isWarned = false;

  constructor(host: string, port: number, logger: Logger) {
    this.#host = host;
    this.#port = port;
    this.#logger = logger;
    this.#socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    this.#socket.on('error', (error) => this.#warn(error));
    this.#socket.unref();
  }

  send(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#bytes + bytes > maxBytes) this.flush();
    this.#lines.push(line);
    this.#bytes += bytes;
    this.#timer ??= setTimeout(() => this.flush(), delayMs).unref();
  }

  flush(done?: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#lines.join('\n');
    this.#lines = [];
    this.#bytes = 0;
    if (text === '') {
      done?.();
      return;
    }
    this.#socket.send(text, this.#port, this.#host, (error) => {
      if (error !== null) this.#warn(error);
      done?.();
    });
  }

  /** Sends buffered lines and closes the socket. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.flush(() => this.#socket.close(() => resolve()));
    });
  }

  #warn(error: Error): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    this.#logger.warn({ err: error }, 'Metrics cannot be sent to StatsD');
  }
}
