// Operations of the commit script sorted by the slot they belong to, in their order within each.
import type { Program } from './program.ts';

export class TaggedProgram {
  readonly #byTag = new Map<string, string[]>();

  /** @param tag hash tag that all keys of the operations carry */
  add(tag: string, operations: Program): void {
    if (operations.length === 0) return;
    const known = this.#byTag.get(tag);
    if (known === undefined) this.#byTag.set(tag, [...operations]);
    else for (const each of operations) known.push(each);
  }

  get tags(): readonly string[] {
    return [...this.#byTag.keys()];
  }

  of(tag: string): Program {
    return this.#byTag.get(tag) ?? [];
  }
}
