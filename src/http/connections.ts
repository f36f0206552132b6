// The end of connections, so that no response is lost. At a shutdown, requests in flight are completed, with
// `Connection: close`, and only idle connections are closed. Node's `closeIdleConnections` would close connections whose
// response is still being read slowly, and keep those that never sent a request. After a response that comes before the end of
// its request, such as a refusal of a large body, the rest is received and dropped: to close at once would reset the
// connection, and the client would find an error instead of the response.
import type { Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Interval of the checks during a shutdown. */
const lookMs = 25;
/** Time for a new connection to send its first byte during a shutdown. */
const firstByteMs = 1000;
/** Maximum time for which the rest of a request is received after its response. */
const restMs = 5000;

interface Connection {
  readonly openedAt: number;
  /** The latest response; earlier ones of the connection are sent before it. */
  answer: ServerResponse | undefined;
  /** Bytes received until the last check. */
  bytesSeen: number;
}

export class Connections {
  readonly #open = new Map<Socket, Connection>();
  #closesIdleAt: number | undefined;

  /** Replaces `closeIdleConnections` of the server, and what Node calls after the last response of a connection. */
  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { openedAt: performance.now(), answer: undefined, bytesSeen: 0 });
      socket.destroySoon = () => {
        closeAfterRest(socket, this.#open.get(socket)?.answer);
      };
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('request', (request, response) => {
      const connection = this.#open.get(request.socket);
      if (connection !== undefined) connection.answer = response;
    });
    server.closeIdleConnections = () => this.#closeAsTheyFinish();
  }

  /** Whether every response is the last one of its connection. */
  get areLeaving(): boolean {
    return this.#closesIdleAt !== undefined;
  }

  /**
   * Starts the shutdown, before the server is closed.
   *
   * @param lingerMs time for which idle connections stay usable, so that clients learn of the end from a response
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

  /** Whether a connection is idle. One that receives data is busy until the response. */
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

/** Closes a connection once its response is sent, and its request is received or the time for that is over. */
function closeAfterRest(socket: Socket, response: ServerResponse | undefined): void {
  const close = (): void => {
    Socket.prototype.destroySoon.call(socket);
  };
  if (response === undefined || response.req.complete || socket.destroyed) {
    close();
    return;
  }
  socket.end();
  const timer = setTimeout(() => socket.destroy(), restMs);
  socket.once('close', () => {
    clearTimeout(timer);
  });
  response.req.once('end', close).resume();
}
