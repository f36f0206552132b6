// Counters, histograms and summaries as they are kept here: adding to one is a look into a map and a few additions,
// since it happens several times for each request. A registry of prom-client tells them like its own. Summaries tell
// number and sum and estimate no quantiles: those cost memory for each set of labels, and cannot be added up over
// processes.
import type { Counter, Registry } from 'prom-client';
import type { Labels } from '../../observability/metrics/sink.ts';

export interface KeptMetricOptions {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram' | 'summary';
  /** Upper bounds of a histogram, without the infinite one. */
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

export class KeptMetric {
  readonly #options: KeptMetricOptions;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();
  /** Whoever adds often does so with the same object. */
  readonly #byLabels = new WeakMap<Labels, Series>();

  constructor(options: KeptMetricOptions) {
    this.#options = options;
    this.#bounds = options.buckets ?? [];
  }

  /** Adds to the series of these labels, which always come with the same names in the same order. */
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

  /** Lets the registry tell it, and since when each series counts if so wanted. */
  register(registry: Registry, createdName: string | undefined): void {
    const { name, help, type } = this.#options;
    const metric = (
      of: string,
      told: string,
      kind: string,
      aggregator: string,
      tell: (each: Series) => Value[],
    ): void =>
      register(registry, {
        name: of,
        help: told,
        type: kind,
        aggregator,
        get: () => ({ name: of, help: told, type: kind, aggregator, values: [...this.#series.values()].flatMap(tell) }),
      });
    metric(name, help, type, 'sum', (series) => this.#tell(series));
    if (createdName === undefined) return;
    metric(createdName, `Since when ${name} counts, in seconds since 1970.`, 'gauge', 'min', (series) => [
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

  #tell({ labels, buckets, count, sum }: Series): Value[] {
    const { name, type } = this.#options;
    if (type === 'counter') return [{ labels, value: sum }];
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

/** Returns the labels in the order of their names, which is how the reference server prints them. */
function sortLabels(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns sorted labels with the bound of a histogram bucket in its place. */
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

interface Told {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly get: () => unknown;
}

/** A registry asks its metrics for no more than this, although its types only know classes of the package. */
function register(registry: Registry, metric: Told): void {
  registry.registerMetric(metric as unknown as Counter);
}
