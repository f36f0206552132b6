// A network between a service and its server that tests can break: connections pass, are cut, or fall silent without
// notice to either side, as when a firewall drops packets.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What became of the network. */
type State = 'open' | 'silent' | 'refusing';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  /** A connection that fell silent stays so, whatever becomes of the network. */
  isLost: boolean;
}

export class TcpProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<Pair>();
  #state: State = 'open';
  #cutsAt: Buffer | undefined;
  #onCut: (() => void) | undefined;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
  }

  /** Listens on a free port for connections to another port of this machine. */
  static async to(target: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, target);
    server.on('connection', (near) => proxy.#join(near));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks all connections, and every new one. */
  refuse(): void {
    this.#state = 'refusing';
    for (const pair of this.#pairs) cut(pair);
  }

  /** Drops all data on existing and new connections, without closing them. */
  fallSilent(): void {
    this.#state = 'silent';
    for (const pair of this.#pairs) pair.isLost = true;
  }

  /** New connections get through again; those that fell silent are lost. */
  mend(): void {
    this.#state = 'open';
  }

  /** Breaks the next connection on which the server sends this, in its place. Resolves when that has happened. */
  cutInsteadOf(answer: string): Promise<void> {
    this.#cutsAt = Buffer.from(answer);
    return new Promise((resolve) => {
      this.#onCut = resolve;
    });
  }

  /** Resolves when a client connects, or at once if one is connected. */
  async reached(): Promise<void> {
    if (this.#pairs.size === 0) await once(this.#server, 'connection');
  }

  async close(): Promise<void> {
    this.refuse();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    const far = connect(this.#target, '127.0.0.1');
    const pair: Pair = { near, far, isLost: this.#state === 'silent' };
    this.#pairs.add(pair);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      from.setNoDelay(true);
      from.on('error', () => cut(pair));
      from.on('close', () => {
        this.#pairs.delete(pair);
        if (!pair.isLost) to.destroy();
        // The end of a lost connection reaches no side, but the test has to end.
        else if (from === near) far.destroy();
      });
      from.on('data', (chunk: Buffer) => {
        if (pair.isLost || to.destroyed) return;
        if (from === far && this.#isToBeCut(chunk)) cut(pair);
        else to.write(chunk);
      });
    }
    if (this.#state === 'refusing') cut(pair);
  }

  #isToBeCut(chunk: Buffer): boolean {
    if (this.#cutsAt === undefined || !chunk.includes(this.#cutsAt)) return false;
    this.#cutsAt = undefined;
    this.#onCut?.();
    return true;
  }
}

function cut({ near, far }: Pair): void {
  near.resetAndDestroy();
  far.destroy();
}
