// Metrics of several workers, in the primary process: sums those of all workers, and keeps the counts of ended ones, so that
// no counter decreases.
import type { Worker } from 'node:cluster';
import { answerWorkers } from '../../observability/worker-channel.ts';
import { formatSnapshots, isSnapshot, sumUp, type Snapshot } from './snapshot.ts';

export const metricsTopic = 'metrics';

/** Starts to answer workers that request the metrics of all. Call once in the primary process. */
export function collectWorkerMetrics(): void {
  const latest = new Map<Worker, Snapshot>();
  // Updates run one after the other, because each adds to the previous sum.
  let ofEnded: Promise<Snapshot> = Promise.resolve([]);
  answerWorkers({
    name: metricsTopic,
    answer: async (_asker, ask) => {
      await ask();
      // A worker that did not report in time is there with its last metrics.
      const living = [...latest.values()];
      return formatSnapshots([await ofEnded, ...living]);
    },
    keep: (worker, report) => {
      if (isSnapshot(report)) latest.set(worker, report);
    },
    ended: (worker) => {
      const last = latest.get(worker);
      latest.delete(worker);
      if (last !== undefined) ofEnded = ofEnded.then((others) => sumUp([others, last]));
    },
  });
}
