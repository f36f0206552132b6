// The connections of a server, so that it can end without cutting anybody off: requests in flight get their answers,
// which say that they are the last of their connection, and only connections that wait for nothing are closed. Node's
// own way of closing idle connections also takes those whose answer is still on its way to a slow reader, and leaves
// those open that never sent anything.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How often connections are looked at while the server ends. */
const lookMs = 25;
/** How long a new connection may take to send the first byte of its request. */
const firstByteMs = 1000;

interface Connection {
  readonly openedAt: number;
  /** The newest; those before it on the same connection are sent before it. */
  answer: ServerResponse | undefined;
  /** What had arrived when it was last looked at. */
  bytesSeen: number;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  #closesIdleAt: number | undefined;

  /** Takes over from the server which connections are closed when it ends. */
  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { openedAt: performance.now(), answer: undefined, bytesSeen: 0 });
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('request', (request, response) => {
      const connection = this.#open.get(request.socket);
      if (connection !== undefined) connection.answer = response;
    });
    server.closeIdleConnections = () => this.#closeAsTheyFinish();
  }

  /** Whether every answer shall be the last of its connection. */
  get areLeaving(): boolean {
    return this.#closesIdleAt !== undefined;
  }

  /**
   * Called before the server is closed.
   *
   * @param lingerMs time for which clients that keep a connection may still use it, to learn that it ends
   */
  leave(lingerMs: number): void {
    this.#closesIdleAt ??= performance.now() + lingerMs;
  }

  #closeAsTheyFinish(): void {
    const timer = setInterval(() => {
      for (const [socket, connection] of this.#open) {
        if (this.#waitsForNothing(socket, connection)) socket.destroy();
      }
      if (this.#open.size === 0) clearInterval(timer);
    }, lookMs);
  }

  /** A connection on which something arrives is left alone until that is answered. */
  #waitsForNothing(socket: Socket, connection: Connection): boolean {
    const { answer, bytesSeen, openedAt } = connection;
    const now = performance.now();
    connection.bytesSeen = socket.bytesRead;
    if (socket.bytesRead !== bytesSeen) return false;
    if (now < (this.#closesIdleAt ?? 0)) return false;
    if (answer === undefined) return bytesSeen === 0 && now - openedAt > firstByteMs;
    return answer.writableFinished || answer.destroyed;
  }
}
