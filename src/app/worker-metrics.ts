// Metrics of several workers, for the primary process. In the composition root, which alone knows the plugins.
import { collectWorkerMetrics } from '../plugins/prometheus/cluster-primary.ts';

/** Answers workers that request the metrics of all workers. */
export function gatherWorkerMetrics(): void {
  collectWorkerMetrics();
}
