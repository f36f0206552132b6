// Reports of all processes: a worker asks the others through the primary process. A single process has its own only.
import cluster from 'node:cluster';
import process from 'node:process';
import { isOperationsMessage, type FromWorker, type Question } from './worker-messages.ts';

/** Longer than the primary process waits for workers. */
const timeoutMs = 2000;

export class Processes {
  /** Number of this worker; `null` for a single process. */
  static get worker(): number | null {
    return cluster.worker?.id ?? null;
  }

  readonly #report: (question: Question) => unknown;
  readonly #requests = new Map<number, (reports: readonly unknown[]) => void>();
  readonly #listen = (message: unknown): void => this.#receive(message);
  #lastRequest = 0;

  /** @param report returns the report of this process, which can be sent to another one */
  constructor(report: (question: Question) => unknown) {
    this.#report = report;
  }

  /** Announces the worker to the primary process. */
  async start(): Promise<void> {
    if (!cluster.isWorker) return;
    process.on('message', this.#listen);
    await send({ kind: 'operations ready' });
  }

  stop(): void {
    process.off('message', this.#listen);
  }

  /** Returns the reports of all processes that respond in time, this one first. */
  async ask(question: Question): Promise<readonly unknown[]> {
    const own = this.#report(question);
    return cluster.isWorker ? [own, ...(await this.#askOthers(question))] : [own];
  }

  #askOthers(question: Question): Promise<readonly unknown[]> {
    const request = ++this.#lastRequest;
    return new Promise((resolve) => {
      const end = (reports: readonly unknown[]): void => {
        clearTimeout(timer);
        this.#requests.delete(request);
        resolve(reports);
      };
      const timer = setTimeout(() => end([]), timeoutMs);
      this.#requests.set(request, end);
      void send({ kind: 'operations wanted', request, question });
    });
  }

  #receive(message: unknown): void {
    if (!isOperationsMessage(message)) return;
    if (message.kind === 'operations reports') this.#requests.get(message.request)?.(message.reports);
    if (message.kind === 'send operations') {
      const { round, question } = message;
      void send({ kind: 'operations report', round, report: this.#report(question) });
    }
  }
}

/** Resolves when the message is written, or when the primary process is gone. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
