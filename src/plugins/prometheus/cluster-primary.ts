// Metrics in the first of several processes: asks all workers when one of them is asked, and keeps what ended workers
// have counted, so that no sum ever goes down.
import cluster, { type Worker } from 'node:cluster';
import { readFromWorker, type ToWorker } from './cluster-messages.ts';
import { sumUp, formatSnapshots, isSnapshot, type Snapshot } from './snapshot.ts';

/** How long a busy worker is waited for; then what it sent last has to do. */
const timeoutMs = 1000;

/** Answers workers that ask for the metrics of all. Call once, in the first process. */
export function collectWorkerMetrics(): void {
  const metrics = new ClusterMetrics();
  cluster.on('message', (worker: Worker, message: unknown) => metrics.receive(worker, message));
  // The channel closes after everything that came through it was heard.
  cluster.on('disconnect', (worker: Worker) => metrics.addEnded(worker));
}

class ClusterMetrics {
  readonly #latest = new Map<Worker, Snapshot>();
  /** One at a time, since each begins with what the one before it left. */
  #ended: Promise<Snapshot> = Promise.resolve([]);
  #round = 0;
  #waiting = new Map<number, { readonly missing: Set<Worker>; readonly end: () => void }>();

  receive(worker: Worker, given: unknown): void {
    const message = readFromWorker(given);
    if (message?.kind === 'metrics wanted') void this.#respond(worker, message.request);
    if (message?.kind !== 'metrics' || !isSnapshot(message.snapshot)) return;
    this.#latest.set(worker, message.snapshot);
    if (message.round !== undefined) this.#noteReply(worker, message.round);
  }

  addEnded(worker: Worker): void {
    const last = this.#latest.get(worker);
    this.#latest.delete(worker);
    if (last !== undefined) this.#ended = this.#ended.then((others) => sumUp([others, last]));
    for (const round of this.#waiting.keys()) this.#noteReply(worker, round);
  }

  async #respond(worker: Worker, request: number): Promise<void> {
    await this.#askAll();
    const living = [...this.#latest.values()];
    const text = await formatSnapshots([await this.#ended, ...living]);
    send(worker, { kind: 'all metrics', request, text });
  }

  #askAll(): Promise<void> {
    const round = ++this.#round;
    const missing = new Set([...this.#latest.keys()].filter((worker) => worker.isConnected()));
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(round);
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.#waiting.set(round, { missing, end });
      for (const worker of missing) send(worker, { kind: 'send metrics', round });
      if (missing.size === 0) end();
    });
  }

  #noteReply(worker: Worker, round: number): void {
    const waiting = this.#waiting.get(round);
    waiting?.missing.delete(worker);
    if (waiting?.missing.size === 0) waiting.end();
  }
}

function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
