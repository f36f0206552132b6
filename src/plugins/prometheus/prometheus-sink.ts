// Keeps metrics for Prometheus. Each is made when it is first needed, since names of policies and listeners are part of
// some.
import type { Registry } from 'prom-client';
import { helpOf, type Labels, type MetricSink } from '../../observability/metrics/sink.ts';
import { KeptMetric, type KeptMetricOptions } from './kept-metric.ts';

export interface PrometheusOptions {
  readonly registry: Registry;
  /** With its underscore. */
  readonly prefix: string;
  /** Seconds. */
  readonly buckets: readonly number[];
  /** Whether it is told since when each set of labels counts. */
  readonly tellsCreation: boolean;
  /** Names that are shown otherwise than the sink gets them. */
  readonly renamed: ReadonlyMap<string, string>;
  /** Names as the sink gets them. */
  readonly disabled: ReadonlySet<string>;
}

const typeNames = { counter: 'Counter', histogram: 'Histogram', summary: 'Summary' } as const;

export class PrometheusSink implements MetricSink {
  readonly #options: PrometheusOptions;
  readonly #buckets: readonly number[];
  /** `undefined` for those that are disabled. */
  readonly #metrics = new Map<string, KeptMetric | undefined>();

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

  time(name: string, labels: Labels, milliseconds: number): void {
    this.#find(name, 'histogram')?.add(labels, milliseconds / 1000);
  }

  measure(name: string, labels: Labels, value: number): void {
    this.#find(name, 'summary')?.add(labels, value);
  }

  #find(name: string, type: KeptMetricOptions['type']): KeptMetric | undefined {
    const known = this.#metrics.get(name);
    if (known !== undefined || this.#metrics.has(name)) return known;
    const metric = this.#options.disabled.has(name) ? undefined : this.#make(name, type);
    this.#metrics.set(name, metric);
    return metric;
  }

  #make(name: string, type: KeptMetricOptions['type']): KeptMetric {
    const { registry, prefix, tellsCreation, renamed } = this.#options;
    const shown = prefix + (renamed.get(name) ?? name);
    const metric = new KeptMetric({
      name: `${shown}${type === 'counter' ? '_total' : ''}`,
      // Begins like the text of the reference server, which deployments look for.
      help: `${typeNames[type]} of ${shown}. ${helpOf(name)}`,
      type,
      ...(type === 'histogram' ? { buckets: this.#buckets } : {}),
    });
    metric.register(registry, tellsCreation ? `${shown}_created` : undefined);
    return metric;
  }
}
