// Metrics of several workers, for the first process. On its own, so that the command line need not know which plugin
// it is that asks.
import { collectWorkerMetrics } from '../plugins/prometheus/cluster-primary.ts';

/** Lets workers ask for the metrics of all of them. */
export function gatherWorkerMetrics(): void {
  collectWorkerMetrics();
}
