// The side of a worker: it serves like a process of its own, and obeys the first process.
import cluster from 'node:cluster';
import process from 'node:process';
import type { Order, Role } from '../serve.ts';
import { readPrimaryMessage, type PrimaryMessage, type WorkerMessage } from './messages.ts';

/** How long clients that keep a connection may go on using it, before it is closed although it is idle. */
export const lingerMs = 2000;
const goodbyeTimeoutMs = 2000;

/** Whom a worker obeys, and what it reports. */
export const worker: Role = {
  // Those that take the place of others come later, when everything has been shown.
  showsBanner: cluster.worker?.id === 1,
  isOneOfMany: true,
  waitForOrder() {
    // A terminal sends these to all processes at once, but it is the first process that decides.
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined);
    return new Promise<Order>((resolve) => {
      process.on('SIGTERM', (signal) => resolve({ reason: signal, lingerMs: 0 }));
      void waitFor('retire').then(() => resolve({ reason: 'retire', lingerMs }));
    });
  },
  noteListening(url) {
    void tell({ kind: 'listening', url });
  },
  async takeLeave() {
    const goodbye = waitFor('goodbye');
    await tell({ kind: 'closed' });
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, goodbyeTimeoutMs);
    });
    await Promise.race([goodbye, late]);
    // Once this is written, so are the connections handed back before it.
    await tell({ kind: 'closed' });
  },
};

/** Lets a worker that cannot start end by itself: the channel to the first process would keep it alive. */
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

/** Resolves when it is written, or when there is nobody to tell any more. */
function tell(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
