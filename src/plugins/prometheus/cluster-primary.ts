// Metrics in the primary process: collects the metrics of all workers on request, and keeps the counts of ended
// workers, so that no counter decreases.
import cluster, { type Worker } from 'node:cluster';
import { readFromWorker, type ToWorker } from './cluster-messages.ts';
import { sumUp, formatSnapshots, isSnapshot, type Snapshot } from './snapshot.ts';

/** Maximum time to wait for a worker, after which its last metrics are used. */
const timeoutMs = 1000;

/** Starts to respond to workers that request the metrics of all. Call once in the primary process. */
export function collectWorkerMetrics(): void {
  const metrics = new ClusterMetrics();
  cluster.on('message', (worker: Worker, message: unknown) => metrics.receive(worker, message));
  // The channel closes after all its messages were received.
  cluster.on('disconnect', (worker: Worker) => metrics.addEnded(worker));
}

class ClusterMetrics {
  readonly #latest = new Map<Worker, Snapshot>();
  /** Sum of ended workers. Updates run one after the other, because each adds to the previous sum. */
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
