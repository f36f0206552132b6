// Listens on the configured address. `localhost` means 127.0.0.1 and ::1 with the same port, because clients resolve the name
// to either; Node would listen on the first one only.
import cluster from 'node:cluster';
import type { Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { codeOf } from '../base/system-errors.ts';

export interface ListenAddress {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
}

export interface Listening {
  /** URL without path, for local programs. */
  readonly url: string;
  /** Stops accepting connections; resolves when all accepted ones have ended. */
  close(): Promise<void>;
}

/** One address of each family. */
export interface Loopback {
  readonly v4: string;
  readonly v6: string;
}

const loopback: Loopback = { v4: '127.0.0.1', v6: '::1' };
/** Errors of a machine without an address family. */
const familyAbsent = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EPROTONOSUPPORT']);
/** Maximum number of attempts to find a port that is free on both loopback addresses. */
const maxPortAttempts = 10;

/**
 * Starts listening.
 *
 * @param local addresses of `localhost`; a machine may lack one of them
 * @throws Node's error with `code`, `address` and `port` when an address cannot be used
 */
export async function listen(
  server: HttpServer,
  { host, port }: ListenAddress,
  local: Loopback = loopback,
): Promise<Listening> {
  if (host !== 'localhost') {
    await listenOn(server, host, port);
    return listening(server, []);
  }
  for (let attempt = 1; ; attempt++) {
    // The second listener starts first: it can be closed and replaced when the port is in use on the other address.
    const second = forwardingTo(server);
    const hasSecond = await triesFamily(second, local.v6, port);
    try {
      if (await triesFamily(server, local.v4, hasSecond ? addressOf(second).port : port)) {
        return listening(server, hasSecond ? [second] : []);
      }
    } catch (error) {
      if (hasSecond) await closed(second);
      // Workers get their random port from the primary process; another attempt could give each a different one.
      const mayTryAgain =
        port === 0 && !cluster.isWorker && codeOf(error) === 'EADDRINUSE' && attempt < maxPortAttempts;
      if (mayTryAgain) continue;
      throw error;
    }
    if (hasSecond) await closed(second);
    await listenOn(server, local.v6, port);
    return listening(server, []);
  }
}

/** Returns whether the server listens; false when the machine has no addresses of this family. */
async function triesFamily(server: Server, host: string, port: number): Promise<boolean> {
  try {
    await listenOn(server, host, port);
    return true;
  } catch (error) {
    if (familyAbsent.has(codeOf(error))) return false;
    throw error;
  }
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Returns a server that passes its connections to the HTTP server, with the same socket options. */
function forwardingTo(server: HttpServer): Server {
  const second = createServer({ allowHalfOpen: true, noDelay: true });
  second.on('connection', (socket: Socket) => void server.emit('connection', socket));
  return second;
}

function listening(server: HttpServer, others: readonly Server[]): Listening {
  for (const other of others) other.on('error', (error) => void server.emit('error', error));
  return {
    url: urlOf(addressOf(server)),
    close: async () => void (await Promise.all([server, ...others].map(closed))),
  };
}

/** Resolves when the server is closed. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address;
}

function urlOf({ address, family, port }: AddressInfo): string {
  if (family === 'IPv6') return `http://[${address === '::' ? loopback.v6 : address}]:${port}`;
  return `http://${address === '0.0.0.0' ? loopback.v4 : address}:${port}`;
}
