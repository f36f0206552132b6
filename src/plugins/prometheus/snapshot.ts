// The metrics of one process as a value that another process can be sent, and several of them as one.
import { AggregatorRegistry, type Registry } from 'prom-client';

/** What a registry holds, as JSON. */
export type Snapshot = readonly Metric[];

interface Metric {
  readonly name: string;
  readonly type: string;
}

/** What the registry holds now. */
export async function takeSnapshot(registry: Registry): Promise<Snapshot> {
  return (await registry.getMetricsAsJSON()).map((metric) => ({ ...metric, type: String(metric.type) }));
}

/** The snapshots together: counts are added up, gauges as fits them. In the form that Prometheus reads. */
export async function formatSnapshots(snapshots: readonly Snapshot[]): Promise<string> {
  return merge(snapshots).metrics();
}

/**
 * What remains of processes that have ended. What they counted stays counted: a sum that went down would look like a
 * restart of everything. What they measured of themselves is gone.
 */
export async function sumUp(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const merged = await takeSnapshot(merge(snapshots));
  return merged.filter(({ name, type }) => type !== 'gauge' || name.endsWith('_created'));
}

/** Whether another process sent a snapshot. */
export function isSnapshot(value: unknown): value is Snapshot {
  return Array.isArray(value) && value.every((each: unknown) => typeof each === 'object' && each !== null);
}

function merge(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
}
