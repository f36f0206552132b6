// What tests know of a proxy in front of a service, whichever program it is.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** A request as the proxy has understood it. */
export interface ForwardedRequest {
  readonly method: string;
  /** As it came, with the query. */
  readonly target: string;
  readonly status: number;
  /** Whether the service was asked. */
  readonly isForwarded: boolean;
}

export interface Proxy {
  /** Passes bodies on when they are complete. */
  readonly origin: string;
  /** Passes bodies on while they come. */
  readonly streamingOrigin: string;
  /** What it has served so far. */
  requests(): Promise<readonly ForwardedRequest[]>;
  stop(): Promise<void>;
}

/** Waits until the program listens there. */
export async function untilListening(port: number, child: { readonly exitCode: number | null }): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (child.exitCode !== null) throw new Error(`the proxy ended with ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(
        () => true,
        () => false,
      ),
      wait(1000, false),
    ]);
    socket.destroy();
    if (isOpen) return;
    await wait(25);
  }
  throw new Error('the proxy does not listen');
}
