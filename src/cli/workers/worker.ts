// The role of a worker process, which the primary process supervises.
import cluster from 'node:cluster';
import process from 'node:process';
import type { StopRequest, Role } from '../serve.ts';
import { readPrimaryMessage, type PrimaryMessage, type WorkerMessage } from './messages.ts';

/** Time for which idle connections stay usable before they are closed. */
export const lingerMs = 2000;
const goodbyeTimeoutMs = 2000;

/** The role of a worker. */
export const worker: Role = {
  // Only the first worker shows the banner, not its successors.
  showsBanner: cluster.worker?.id === 1,
  isOneOfMany: true,
  waitForStop() {
    // A terminal sends these to all processes, but the primary process decides.
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined);
    return new Promise<StopRequest>((resolve) => {
      process.on('SIGTERM', (signal) => resolve({ reason: signal, lingerMs: 0 }));
      void waitFor('retire').then(() => resolve({ reason: 'retire', lingerMs }));
    });
  },
  noteListening(url) {
    process.on('message', (message: unknown) => {
      if (readPrimaryMessage(message)?.kind === 'ping') void send({ kind: 'pong' });
    });
    void send({ kind: 'listening', url });
  },
  async finish() {
    const goodbye = waitFor('goodbye');
    await send({ kind: 'closed' });
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, goodbyeTimeoutMs);
    });
    await Promise.race([goodbye, late]);
    // Messages are ordered: when this one is written, so are the connections passed back before it.
    await send({ kind: 'closed' });
  },
};

/** Lets a worker that cannot start exit: the channel to the primary process would keep it alive. */
export function releaseChannel(): void {
  process.channel?.unref();
}

function waitFor(kind: PrimaryMessage['kind']): Promise<void> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => {
      if (readPrimaryMessage(message)?.kind !== kind) return;
      process.off('message', take);
      resolve();
    };
    process.on('message', take);
  });
}

/** Sends a message. Resolves when it is written, or when the channel is closed. */
function send(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
