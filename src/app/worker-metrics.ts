// Metrics of several workers, for the first process. On its own, so that the command line need not know which plugin
// it is that asks.
import { gatherMetrics } from '../plugins/prometheus/primary-side.ts';

/** Lets workers ask for the metrics of all of them. */
export function gatherWorkerMetrics(): void {
  gatherMetrics();
}
