// Metrics of several workers, for the primary process. Here, because only the composition root imports plugins.
import { collectWorkerMetrics } from '../plugins/prometheus/cluster-primary.ts';

/** Responds to workers that request the metrics of all workers. */
export function gatherWorkerMetrics(): void {
  collectWorkerMetrics();
}
