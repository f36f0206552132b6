// Metrics of several workers, for the primary process. In the composition root, which alone knows the plugins.
import { gatherMetrics } from '../plugins/prometheus/primary-side.ts';

/** Answers workers that request the metrics of all workers. */
export function gatherWorkerMetrics(): void {
  gatherMetrics();
}
