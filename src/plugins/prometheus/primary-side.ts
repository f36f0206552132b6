// Metrics in the first of several processes: asks all workers when one of them is asked, and keeps what ended workers
// have counted, so that no sum ever goes down.
import cluster, { type Worker } from 'node:cluster';
import { readFromWorker, type ToWorker } from './messages.ts';
import { addUp, formatSnapshots, isSnapshot, type Snapshot } from './snapshot.ts';

/** How long a busy worker is waited for; then what it sent last has to do. */
const patienceMs = 1000;

/** Answers workers that ask for the metrics of all. Call once, in the first process. */
export function gatherMetrics(): void {
  const gathering = new QueryBatcher();
  cluster.on('message', (worker: Worker, message: unknown) => gathering.hear(worker, message));
  // The channel closes after everything that came through it was heard.
  cluster.on('disconnect', (worker: Worker) => gathering.bury(worker));
}

class QueryBatcher {
  readonly #latest = new Map<Worker, Snapshot>();
  /** One at a time, since each begins with what the one before it left. */
  #buried: Promise<Snapshot> = Promise.resolve([]);
  #round = 0;
  #waiting = new Map<number, { readonly missing: Set<Worker>; readonly end: () => void }>();

  hear(worker: Worker, given: unknown): void {
    const message = readFromWorker(given);
    if (message?.kind === 'metrics wanted') void this.#answer(worker, message.question);
    if (message?.kind !== 'metrics' || !isSnapshot(message.snapshot)) return;
    this.#latest.set(worker, message.snapshot);
    if (message.round !== undefined) this.#noteReply(worker, message.round);
  }

  bury(worker: Worker): void {
    const last = this.#latest.get(worker);
    this.#latest.delete(worker);
    if (last !== undefined) this.#buried = this.#buried.then((others) => addUp([others, last]));
    for (const round of this.#waiting.keys()) this.#noteReply(worker, round);
  }

  async #answer(worker: Worker, question: number): Promise<void> {
    await this.#askAll();
    const living = [...this.#latest.values()];
    const text = await formatSnapshots([await this.#buried, ...living]);
    tell(worker, { kind: 'all metrics', question, text });
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
      const timer = setTimeout(end, patienceMs);
      this.#waiting.set(round, { missing, end });
      for (const worker of missing) tell(worker, { kind: 'send metrics', round });
      if (missing.size === 0) end();
    });
  }

  #noteReply(worker: Worker, round: number): void {
    const waiting = this.#waiting.get(round);
    waiting?.missing.delete(worker);
    if (waiting?.missing.size === 0) waiting.end();
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
