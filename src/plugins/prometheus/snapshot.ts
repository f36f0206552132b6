// Snapshots of the metrics of a process, which can be sent to another process and merged.
import { AggregatorRegistry, type Registry } from 'prom-client';

/** Metrics of a registry as JSON. */
export type Snapshot = readonly Metric[];

interface Metric {
  readonly name: string;
  readonly type: string;
}

/** Returns a snapshot of the registry. */
export async function takeSnapshot(registry: Registry): Promise<Snapshot> {
  return (await registry.getMetricsAsJSON()).map((metric) => ({ ...metric, type: String(metric.type) }));
}

/** Formats merged snapshots in the Prometheus text format. Counts are summed, gauges by their own aggregation. */
export async function formatSnapshots(snapshots: readonly Snapshot[]): Promise<string> {
  return merge(snapshots).metrics();
}

/**
 * Merges snapshots of ended processes. Their counters are kept, because a decreasing sum would look like a restart.
 * Their gauges are dropped.
 */
export async function sumUp(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const merged = await takeSnapshot(merge(snapshots));
  return merged.filter(({ name, type }) => type !== 'gauge' || name.endsWith('_created'));
}

/** Returns whether a value is a snapshot. */
export function isSnapshot(value: unknown): value is Snapshot {
  return Array.isArray(value) && value.every((each: unknown) => typeof each === 'object' && each !== null);
}

function merge(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
}
