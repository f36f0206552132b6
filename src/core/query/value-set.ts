// The values of a list in a condition, such as those of `$in`. Scalars are found by one look-up instead of a comparison with
// each of them.
import { ExactNumber, type JsonValue } from '../../base/json.ts';
import { equalValues } from './compare.ts';

type Scalar = string | number | boolean | null | ExactNumber;

export function isScalar(value: JsonValue): value is Scalar {
  return typeof value !== 'object' || value === null || value instanceof ExactNumber;
}

export class ValueSet {
  /** Scalars, each once. Numbers are listed below their nearest double, since numbers with more digits may share it. */
  readonly #scalars = new Map<string | number | boolean | null, Scalar[]>();
  readonly #nested: JsonValue[] = [];
  #size = 0;

  constructor(values: readonly JsonValue[]) {
    for (const value of values) {
      if (!isScalar(value)) this.#nested.push(value);
      else if (this.find(value) === undefined) {
        const key = keyOf(value);
        const known = this.#scalars.get(key);
        if (known === undefined) this.#scalars.set(key, [value]);
        else known.push(value);
        this.#size++;
      }
    }
  }

  /** Number of different scalars. */
  get size(): number {
    return this.#size;
  }

  /** The values that are arrays or objects. */
  get nested(): readonly JsonValue[] {
    return this.#nested;
  }

  /** Returns the scalar that is equal in the order of `compareValues`; always the same one, `undefined` when there is none. */
  find(value: Scalar): Scalar | undefined {
    return this.#scalars.get(keyOf(value))?.find((known) => equalValues(known, value));
  }
}

function keyOf(value: Scalar): string | number | boolean | null {
  return value instanceof ExactNumber ? Number(value.text) : value;
}

const sets = new WeakMap<readonly JsonValue[], ValueSet>();

/** Returns the set of a list, which must not change later. */
export function setOf(values: readonly JsonValue[]): ValueSet {
  let set = sets.get(values);
  if (set === undefined) sets.set(values, (set = new ValueSet(values)));
  return set;
}
