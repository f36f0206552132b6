// Ids of objects and users make good labels until there are a million of them: each distinct set of labels is kept for
// ever, here and by whoever collects them. So their number is limited.
import type { Labels } from './sink.ts';

/** Stands for all values beyond the limit. No id looks like this. */
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
   * The labels, with `(other)` for values that come too late.
   *
   * @param open those whose values clients choose
   * @param fixed those with few values
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

/** Whether the set of that name holds the value, or had room for it. */
function has(sets: Map<string, Set<string>>, name: string, value: string, limit: number): boolean {
  let set = sets.get(name);
  if (set === undefined) sets.set(name, (set = new Set()));
  if (set.has(value)) return true;
  if (set.size >= limit) return false;
  set.add(value);
  return true;
}
