// Metrics in a worker: sends what it has when asked, and asks for what all have.
import process from 'node:process';
import { readToWorker, type FromWorker, type ToWorker } from './cluster-messages.ts';
import type { Snapshot } from './snapshot.ts';

/** More than the first process waits for workers. */
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

  /** Lets the first process know that there is somebody to ask. */
  async start(): Promise<void> {
    await this.#send();
  }

  /** Leaves what was counted to the first process. */
  async stop(): Promise<void> {
    await this.#send();
    process.off('message', this.#listen);
  }

  /** What all workers have; `undefined` when the first process does not answer. */
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

/** Resolves when it is written, or when there is nobody to tell any more. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
