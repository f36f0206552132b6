// Counters, gauges, histograms and summaries for the hot path: an update is one map lookup and a few additions, several times
// per request. A prom-client registry exports them like its own metrics. Summaries have count and sum but no quantiles,
// which need memory for each label set and cannot be aggregated over processes.
import type { Counter, Registry } from 'prom-client';
import type { Labels } from '../../observability/metrics/sink.ts';

export interface LabelledMetricOptions {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  /** Upper bounds of a histogram, without `+Inf`. */
  readonly buckets?: readonly number[];
}

interface Series {
  readonly labels: Labels;
  readonly createdAt: number;
  readonly buckets: number[];
  count: number;
  sum: number;
}

interface Value {
  readonly metricName?: string;
  readonly labels: Labels;
  readonly value: number;
}

export class LabelledMetric {
  readonly #options: LabelledMetricOptions;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();
  /** Cache for callers that pass the same object repeatedly. */
  readonly #byLabels = new WeakMap<Labels, Series>();

  constructor(options: LabelledMetricOptions) {
    this.#options = options;
    this.#bounds = options.buckets ?? [];
  }

  /** Adds a value to the series of these labels, whose names always have the same order. */
  add(labels: Labels, value: number): void {
    const series = this.#find(labels);
    series.count++;
    series.sum += value;
    for (let i = 0; i < this.#bounds.length; i++) {
      if (value > this.#bounds[i]!) continue;
      series.buckets[i]!++;
      return;
    }
  }

  /** Replaces the value of the series of these labels. */
  set(labels: Labels, value: number): void {
    this.#find(labels).sum = value;
  }

  /** Registers the metric, and optionally a gauge with the creation time of each series. */
  register(registry: Registry, createdName: string | undefined): void {
    const { name, help, type } = this.#options;
    const metric = (
      of: string,
      text: string,
      kind: string,
      aggregator: string,
      format: (each: Series) => Value[],
    ): void =>
      register(registry, {
        name: of,
        help: text,
        type: kind,
        aggregator,
        get: () => ({
          name: of,
          help: text,
          type: kind,
          aggregator,
          values: [...this.#series.values()].flatMap(format),
        }),
      });
    metric(name, help, type, 'sum', (series) => this.#format(series));
    if (createdName === undefined) return;
    metric(createdName, `Creation time of ${name}, in seconds since 1970.`, 'gauge', 'min', (series) => [
      { labels: series.labels, value: series.createdAt / 1000 },
    ]);
  }

  #find(labels: Labels): Series {
    const known = this.#byLabels.get(labels);
    if (known !== undefined) return known;
    const key = Object.values(labels).join('\n');
    let series = this.#series.get(key);
    if (series === undefined) {
      series = {
        labels: sortLabels(labels),
        createdAt: Date.now(),
        buckets: this.#bounds.map(() => 0),
        count: 0,
        sum: 0,
      };
      this.#series.set(key, series);
    }
    this.#byLabels.set(labels, series);
    return series;
  }

  #format({ labels, buckets, count, sum }: Series): Value[] {
    const { name, type } = this.#options;
    if (type === 'counter' || type === 'gauge') return [{ labels, value: sum }];
    const values: Value[] = [];
    if (type === 'histogram') {
      let total = 0;
      for (const [index, bound] of this.#bounds.entries()) {
        total += buckets[index]!;
        values.push({ metricName: `${name}_bucket`, labels: withBound(labels, String(bound)), value: total });
      }
      values.push({ metricName: `${name}_bucket`, labels: withBound(labels, '+Inf'), value: count });
    }
    values.push(
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    );
    return values;
  }
}

/** Returns the labels in the order of their names, as Kinto prints them. */
function sortLabels(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns sorted labels with the bound of a histogram bucket at its sorted position. */
function withBound(labels: Labels, bound: string): Labels {
  const result: Record<string, string> = {};
  let isPlaced = false;
  for (const name in labels) {
    if (!isPlaced && name > 'le') {
      result['le'] = bound;
      isPlaced = true;
    }
    result[name] = labels[name]!;
  }
  if (!isPlaced) result['le'] = bound;
  return result;
}

interface RegisteredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly get: () => unknown;
}

/** Registers a metric. The registry uses only these members, although its types require classes of the package. */
function register(registry: Registry, metric: RegisteredMetric): void {
  registry.registerMetric(metric as unknown as Counter);
}
