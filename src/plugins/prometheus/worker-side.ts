// Metrics in a worker: sends what it has when asked, and asks for what all have.
import process from 'node:process';
import { readToWorker, type FromWorker, type ToWorker } from './messages.ts';
import type { Snapshot } from './snapshot.ts';

/** More than the first process waits for workers. */
const patienceMs = 3000;

export class WorkerSide {
  readonly #take: () => Promise<Snapshot>;
  readonly #questions = new Map<number, (text: string) => void>();
  readonly #listen = (message: unknown): void => this.#hear(readToWorker(message));
  #lastQuestion = 0;

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
    const question = ++this.#lastQuestion;
    return new Promise((resolve) => {
      const end = (text: string | undefined): void => {
        clearTimeout(timer);
        this.#questions.delete(question);
        resolve(text);
      };
      const timer = setTimeout(() => end(undefined), patienceMs);
      this.#questions.set(question, end);
      void tell({ kind: 'metrics wanted', question });
    });
  }

  #hear(message: ToWorker | undefined): void {
    if (message?.kind === 'all metrics') this.#questions.get(message.question)?.(message.text);
    if (message?.kind === 'send metrics') void this.#send(message.round);
  }

  async #send(round?: number): Promise<void> {
    await tell({ kind: 'metrics', round, snapshot: await this.#take() });
  }
}

/** Resolves when it is written, or when there is nobody to tell any more. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
