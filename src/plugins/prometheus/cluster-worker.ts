// Metrics in a worker: sends its metrics on request, and requests those of all workers.
import process from 'node:process';
import { readToWorker, type FromWorker, type ToWorker } from './cluster-messages.ts';
import type { Snapshot } from './snapshot.ts';

/** Longer than the primary process waits for workers. */
const timeoutMs = 3000;

export class WorkerMetrics {
  readonly #take: () => Promise<Snapshot>;
  readonly #requests = new Map<number, (text: string) => void>();
  readonly #listen = (message: unknown): void => this.#receive(readToWorker(message));
  #lastRequest = 0;

  constructor(take: () => Promise<Snapshot>) {
    this.#take = take;
    process.on('message', this.#listen);
  }

  /** Announces the worker to the primary process. */
  async start(): Promise<void> {
    await this.#send();
  }

  /** Sends the final counts to the primary process. */
  async stop(): Promise<void> {
    await this.#send();
    process.off('message', this.#listen);
  }

  /** Returns the metrics of all workers, or `undefined` if the primary process does not respond. */
  askForAll(): Promise<string | undefined> {
    const request = ++this.#lastRequest;
    return new Promise((resolve) => {
      const end = (text: string | undefined): void => {
        clearTimeout(timer);
        this.#requests.delete(request);
        resolve(text);
      };
      const timer = setTimeout(() => end(undefined), timeoutMs);
      this.#requests.set(request, end);
      void send({ kind: 'metrics wanted', request });
    });
  }

  #receive(message: ToWorker | undefined): void {
    if (message?.kind === 'all metrics') this.#requests.get(message.request)?.(message.text);
    if (message?.kind === 'send metrics') void this.#send(message.round);
  }

  async #send(round?: number): Promise<void> {
    await send({ kind: 'metrics', round, snapshot: await this.#take() });
  }
}

/** Resolves when the message is written, or when the primary process is gone. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
