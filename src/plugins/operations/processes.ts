// Reports of all processes. A worker requests those of the others from the primary process. A single process has its own only.
import cluster from 'node:cluster';
import type { LogQuery } from '../../observability/log-ring.ts';
import { answerWorkers, WorkerChannel } from '../../observability/worker-channel.ts';

/** What a process reports about itself. */
export type ReportQuery =
  | { readonly of: 'figures' }
  | { readonly of: 'slow' }
  | { readonly of: 'log'; readonly query: LogQuery };

const topic = 'operations';

export class Processes {
  /** Number of this worker; `null` for a single process. */
  static get worker(): number | null {
    return cluster.worker?.id ?? null;
  }

  readonly #report: (query: ReportQuery) => unknown;
  readonly #channel: WorkerChannel<ReportQuery, readonly unknown[]>;

  /** @param report returns the report of this process, which can be sent to another one */
  constructor(report: (query: ReportQuery) => unknown) {
    this.#report = report;
    this.#channel = new WorkerChannel(topic, report);
  }

  /** Announces the worker to the primary process. */
  async start(): Promise<void> {
    if (cluster.isWorker) await this.#channel.announce(null);
  }

  stop(): void {
    this.#channel.close();
  }

  /** Returns the reports of all processes that respond in time, this one first. */
  async ask(query: ReportQuery): Promise<readonly unknown[]> {
    const own = this.#report(query);
    return cluster.isWorker ? [own, ...((await this.#channel.ask(query)) ?? [])] : [own];
  }
}

/** Starts to pass reports of workers to others. Call once in the primary process. */
export function passWorkerReports(): void {
  answerWorkers({
    name: topic,
    answer: async (asker, ask) => [...(await ask())].filter(([worker]) => worker !== asker).map(([, report]) => report),
  });
}
