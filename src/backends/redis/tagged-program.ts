// Operations of the commit script by slot, in their order within each, with the keys that they touch.
import type { Program } from './program.ts';

/** One run of the commit script on a cluster. */
export interface SlotProgram {
  readonly operations: Program;
  /** Every key that the operations touch. */
  readonly keys: readonly string[];
}

const nothing: SlotProgram = { operations: [], keys: [] };

export class TaggedProgram {
  readonly #byTag = new Map<string, { readonly operations: string[]; readonly keys: Set<string> }>();

  /**
   * Adds operations.
   *
   * @param tag hash tag that all keys of the operations carry
   * @param keys every key that the operations touch
   */
  add(tag: string, operations: Program, keys: readonly string[]): void {
    if (operations.length === 0) return;
    let known = this.#byTag.get(tag);
    if (known === undefined) {
      known = { operations: [], keys: new Set() };
      this.#byTag.set(tag, known);
    }
    for (const each of operations) known.operations.push(each);
    for (const key of keys) known.keys.add(key);
  }

  get tags(): readonly string[] {
    return [...this.#byTag.keys()];
  }

  of(tag: string): SlotProgram {
    const known = this.#byTag.get(tag);
    return known === undefined ? nothing : { operations: known.operations, keys: [...known.keys] };
  }
}
