// Metrics and reports of several workers, for the primary process. Here, because only the composition root imports plugins.
import { passWorkerReports } from '../plugins/operations/processes.ts';
import { collectWorkerMetrics } from '../plugins/prometheus/worker-metrics.ts';

/** Responds to workers that request the metrics or the reports of all workers. */
export function gatherWorkerMetrics(): void {
  collectWorkerMetrics();
  passWorkerReports();
}
