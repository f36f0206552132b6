// Reports that a worker requests from all workers. It asks the primary process, which asks the workers and answers. Parts of
// the service that share the channel between the processes have a topic each.
import cluster, { type Worker } from 'node:cluster';
import process from 'node:process';

/** Maximum time in milliseconds that the primary process waits for the report of a worker. */
const reportMs = 1000;
/** Maximum time in milliseconds that a worker waits for the primary process. */
const answerMs = 3000;

/** Messages of a worker: its report, requested in a round or not, and a request to the primary process. */
type FromWorker =
  | { readonly topic: string; readonly kind: 'report'; readonly round?: number | undefined; readonly report: unknown }
  | { readonly topic: string; readonly kind: 'request'; readonly request: number; readonly query: unknown };

/** Messages to a worker: a request for its report, and the answer to its request. */
type ToWorker =
  | { readonly topic: string; readonly kind: 'query'; readonly round: number; readonly query: unknown }
  | { readonly topic: string; readonly kind: 'answer'; readonly request: number; readonly answer: unknown };

/** The channel of a worker. In a service of one process there is nothing to ask. */
export class WorkerChannel<Query, Answer> {
  readonly #topic: string;
  readonly #report: (query: Query) => unknown;
  readonly #requests = new Map<number, (answer: Answer | undefined) => void>();
  readonly #listen = (message: unknown): void => {
    if (isOf<ToWorker>(this.#topic, message)) void this.#receive(message);
  };
  #lastRequest = 0;

  /** @param report returns the report of this process, which can be sent to another one */
  constructor(topic: string, report: (query: Query) => unknown) {
    this.#topic = topic;
    this.#report = report;
    if (cluster.isWorker) process.on('message', this.#listen);
  }

  /** Sends a report without a request. The primary process asks only workers that have sent one. */
  announce(report: unknown): Promise<void> {
    return sendToPrimary({ topic: this.#topic, kind: 'report', report });
  }

  /** Returns the answer of the primary process; `undefined` when there is none in time. */
  ask(query: Query): Promise<Answer | undefined> {
    const request = ++this.#lastRequest;
    return new Promise((resolve) => {
      const end = (answer: Answer | undefined): void => {
        clearTimeout(timer);
        this.#requests.delete(request);
        resolve(answer);
      };
      const timer = setTimeout(() => end(undefined), answerMs);
      this.#requests.set(request, end);
      void sendToPrimary({ topic: this.#topic, kind: 'request', request, query });
    });
  }

  close(): void {
    process.off('message', this.#listen);
  }

  async #receive(message: ToWorker): Promise<void> {
    if (message.kind === 'answer') {
      this.#requests.get(message.request)?.(message.answer as Answer);
      return;
    }
    const report = await this.#report(message.query as Query);
    await sendToPrimary({ topic: this.#topic, kind: 'report', round: message.round, report });
  }
}

/** What the primary process does with a topic. */
export interface WorkerTopic {
  readonly name: string;
  /**
   * Returns the answer to a worker.
   *
   * @param ask requests the reports of all workers, and returns those that arrive in time
   */
  readonly answer: (asker: Worker, ask: () => Promise<ReadonlyMap<Worker, unknown>>) => Promise<unknown>;
  /** Receives each report. */
  readonly keep?: (worker: Worker, report: unknown) => void;
  /** Called when a worker has ended, after all its messages. */
  readonly ended?: (worker: Worker) => void;
}

interface Round {
  readonly missing: Set<Worker>;
  readonly reports: Map<Worker, unknown>;
  readonly end: () => void;
}

/** Starts to answer workers. Call once for each topic in the primary process. */
export function answerWorkers({ name: topic, answer, keep, ended }: WorkerTopic): void {
  const known = new Set<Worker>();
  const rounds = new Map<number, Round>();
  let lastRound = 0;

  const askAll = (query: unknown): Promise<ReadonlyMap<Worker, unknown>> => {
    const round = ++lastRound;
    const missing = new Set([...known].filter((worker) => worker.isConnected()));
    const reports = new Map<Worker, unknown>();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        rounds.delete(round);
        resolve(reports);
      };
      const timer = setTimeout(end, reportMs);
      rounds.set(round, { missing, reports, end });
      for (const worker of missing) sendToWorker(worker, { topic, kind: 'query', round, query });
      if (missing.size === 0) end();
    });
  };
  const settle = (worker: Worker, { missing, end }: Round): void => {
    if (missing.delete(worker) && missing.size === 0) end();
  };

  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isOf<FromWorker>(topic, message)) return;
    if (message.kind === 'request') {
      const { request, query } = message;
      const reply = (given: unknown): void => sendToWorker(worker, { topic, kind: 'answer', request, answer: given });
      // Without an answer, the worker shows its own report alone.
      void answer(worker, () => askAll(query))
        .catch(() => undefined)
        .then(reply);
      return;
    }
    const { report, round: number } = message;
    known.add(worker);
    keep?.(worker, report);
    const round = number === undefined ? undefined : rounds.get(number);
    if (round?.missing.has(worker) !== true) return;
    round.reports.set(worker, report);
    settle(worker, round);
  });
  // The channel closes after all its messages were received.
  cluster.on('disconnect', (worker: Worker) => {
    known.delete(worker);
    ended?.(worker);
    for (const round of rounds.values()) settle(worker, round);
  });
}

function isOf<M extends FromWorker | ToWorker>(topic: string, message: unknown): message is M {
  return typeof message === 'object' && message !== null && 'topic' in message && message.topic === topic;
}

function sendToWorker(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

/** Resolves when the message is written, or when the primary process is gone. */
function sendToPrimary(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
