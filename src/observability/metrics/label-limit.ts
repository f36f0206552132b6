// Limits the number of distinct labels from ids of objects and users: each set of labels is stored forever, here and in the
// metrics system.
import type { Labels } from './sink.ts';

/** Replaces all values beyond the limit. It is not a valid id. */
export const otherValue = '(other)';

export interface LabelLimits {
  /** Distinct values of one label. */
  readonly values: number;
  /** Distinct sets of labels of one metric. */
  readonly series: number;
}

export class LabelLimit {
  readonly #limits: LabelLimits;
  readonly #values = new Map<string, Set<string>>();
  readonly #series = new Map<string, Set<string>>();

  constructor(limits: LabelLimits) {
    this.#limits = limits;
  }

  /**
   * Returns the labels, with `(other)` for values beyond the limits.
   *
   * @param open labels with values from clients
   * @param fixed labels with few values
   */
  bound(metric: string, open: Labels, fixed: Labels): Labels {
    const bounded: Record<string, string> = {};
    for (const name in open) bounded[name] = this.#boundValue(name, open[name]!);
    const key = [...Object.values(fixed), ...Object.values(bounded)].join('\n');
    if (has(this.#series, metric, key, this.#limits.series)) return bounded;
    for (const name in bounded) if (bounded[name] !== '') bounded[name] = otherValue;
    return bounded;
  }

  #boundValue(name: string, value: string): string {
    return value === '' || has(this.#values, name, value, this.#limits.values) ? value : otherValue;
  }
}

/** Whether the set of that name contains the value, or had room for it. */
function has(sets: Map<string, Set<string>>, name: string, value: string, limit: number): boolean {
  let set = sets.get(name);
  if (set === undefined) sets.set(name, (set = new Set()));
  if (set.has(value)) return true;
  if (set.size >= limit) return false;
  set.add(value);
  return true;
}
