// Metrics of several workers, for the primary process. Here, because only the composition root imports plugins.
import { gatherMetrics } from '../plugins/prometheus/primary-side.ts';

/** Responds to workers that request the metrics of all workers. */
export function gatherWorkerMetrics(): void {
  gatherMetrics();
}
