// Metric sink of the plugin. Metrics are created on first use, because some names contain policies and listeners.
import type { Registry } from 'prom-client';
import { helpOf, type Labels, type MetricSink } from '../../observability/metrics/sink.ts';
import { LabelledMetric, type LabelledMetricOptions } from './labelled-metric.ts';

export interface PrometheusOptions {
  readonly registry: Registry;
  /** Name prefix with its underscore. */
  readonly prefix: string;
  /** Histogram bounds in seconds. */
  readonly buckets: readonly number[];
  /** Whether to export the creation time of each series. */
  readonly exposesCreation: boolean;
  /** Exported names by internal name, if different. */
  readonly renamed: ReadonlyMap<string, string>;
  /** Internal names of disabled metrics. */
  readonly disabled: ReadonlySet<string>;
}

const typeNames = { counter: 'Counter', gauge: 'Gauge', histogram: 'Histogram', summary: 'Summary' } as const;

export class PrometheusSink implements MetricSink {
  readonly #options: PrometheusOptions;
  readonly #buckets: readonly number[];
  /** `undefined` for disabled metrics. */
  readonly #metrics = new Map<string, LabelledMetric | undefined>();

  constructor(options: PrometheusOptions) {
    this.#options = options;
    this.#buckets = options.buckets.filter(Number.isFinite);
  }

  count(name: string, labels: Labels, times = 1): void {
    this.#find(name, 'counter')?.add(labels, times);
  }

  countUnique(name: string, labels: Labels): void {
    this.count(name, labels);
  }

  gauge(name: string, labels: Labels, value: number): void {
    this.#find(name, 'gauge')?.set(labels, value);
  }

  time(name: string, labels: Labels, milliseconds: number): void {
    this.#find(name, 'histogram')?.add(labels, milliseconds / 1000);
  }

  measure(name: string, labels: Labels, value: number): void {
    this.#find(name, 'summary')?.add(labels, value);
  }

  #find(name: string, type: LabelledMetricOptions['type']): LabelledMetric | undefined {
    const known = this.#metrics.get(name);
    if (known !== undefined || this.#metrics.has(name)) return known;
    const metric = this.#options.disabled.has(name) ? undefined : this.#make(name, type);
    this.#metrics.set(name, metric);
    return metric;
  }

  #make(name: string, type: LabelledMetricOptions['type']): LabelledMetric {
    const { registry, prefix, exposesCreation, renamed } = this.#options;
    const shown = prefix + (renamed.get(name) ?? name);
    const metric = new LabelledMetric({
      name: `${shown}${type === 'counter' ? '_total' : ''}`,
      // Starts like the text of Kinto, which deployments may search for.
      help: `${typeNames[type]} of ${shown}. ${helpOf(name)}`,
      type,
      ...(type === 'histogram' ? { buckets: this.#buckets } : {}),
    });
    metric.register(registry, exposesCreation && type !== 'gauge' ? `${shown}_created` : undefined);
    return metric;
  }
}
