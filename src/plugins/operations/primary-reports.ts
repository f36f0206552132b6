// The primary process: passes the question of a worker to the others, and their reports back.
import cluster, { type Worker } from 'node:cluster';
import { isOperationsMessage, type Question, type ToWorker } from './worker-messages.ts';

/** Maximum time to wait for a worker, which is left out afterwards. */
const timeoutMs = 1000;

interface Round {
  readonly missing: Set<Worker>;
  readonly reports: unknown[];
  readonly end: () => void;
}

/** Starts to pass questions and reports. Call once in the primary process. */
export function passWorkerReports(): void {
  const ready = new Set<Worker>();
  const rounds = new Map<number, Round>();
  let lastRound = 0;

  const ask = (asker: Worker, question: Question): Promise<readonly unknown[]> => {
    const round = ++lastRound;
    const missing = new Set([...ready].filter((worker) => worker !== asker && worker.isConnected()));
    const reports: unknown[] = [];
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        rounds.delete(round);
        resolve(reports);
      };
      const timer = setTimeout(end, timeoutMs);
      rounds.set(round, { missing, reports, end });
      for (const worker of missing) send(worker, { kind: 'send operations', round, question });
      if (missing.size === 0) end();
    });
  };

  const settle = (worker: Worker, { missing, end }: Round): void => {
    if (missing.delete(worker) && missing.size === 0) end();
  };

  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isOperationsMessage(message)) return;
    if (message.kind === 'operations ready') ready.add(worker);
    if (message.kind === 'operations wanted') {
      const { request, question } = message;
      void ask(worker, question).then((reports) => send(worker, { kind: 'operations reports', request, reports }));
    }
    if (message.kind === 'operations report') {
      const round = rounds.get(message.round);
      if (round?.missing.has(worker) !== true) return;
      round.reports.push(message.report);
      settle(worker, round);
    }
  });
  cluster.on('disconnect', (worker: Worker) => {
    ready.delete(worker);
    for (const round of rounds.values()) settle(worker, round);
  });
}

function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
