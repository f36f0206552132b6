// Many clients of live streams, with little work for each chunk: they look for a mark in what arrives, and nothing else.
import { connect } from 'node:net';

/** Connections that are opened at the same time. */
const openedAtOnce = 200;

export class StreamClients {
  /** @type {import('node:net').Socket[]} */
  #sockets = [];
  /** @type {Buffer} */
  #mark = Buffer.from('event: current');
  #missing = 0;
  /** @type {(() => void) | undefined} */
  #found;
  /** Called when a connection ends. */
  onEnd = () => {};

  get count() {
    return this.#sockets.length;
  }

  /**
   * Opens streams, and waits until each has received its first frame.
   *
   * @param {string} url scheme, host and port
   * @param {string} path
   * @param {number} count
   * @param {Record<string, string>} [headers]
   */
  async open(url, path, count, headers = {}) {
    const { hostname, port } = new URL(url);
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const request = `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept: text/event-stream\r\n${own.join('')}\r\n`;
    for (let left = count; left > 0; left -= openedAtOnce) {
      const opened = this.expect('event: current', Math.min(left, openedAtOnce));
      for (let n = 0; n < Math.min(left, openedAtOnce); n++) this.#connect(hostname, Number(port), request);
      await opened;
    }
  }

  /**
   * Waits until a mark has arrived on many streams. Marks are not looked for across chunks, which contain whole frames.
   *
   * @param {string} mark
   * @param {number} [count] of all streams by default
   * @returns {Promise<void>}
   */
  expect(mark, count = this.#sockets.length) {
    this.#mark = Buffer.from(mark);
    this.#missing = count;
    return new Promise((resolve) => {
      this.#found = resolve;
    });
  }

  close() {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets = [];
  }

  /** @param {string} host @param {number} port @param {string} request */
  #connect(host, port, request) {
    const socket = connect({ host, port, noDelay: true });
    socket.on('error', () => {});
    socket.on('close', () => this.onEnd());
    socket.write(request);
    socket.on('data', (chunk) => {
      if (!chunk.includes(this.#mark)) return;
      this.#missing -= 1;
      if (this.#missing === 0) this.#found?.();
    });
    this.#sockets.push(socket);
  }
}
