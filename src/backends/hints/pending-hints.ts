// The hints that a process has not sent yet: each of them once, and a limited number.
import type { ChangeHint } from '../../contracts/change-hints.ts';
import { keyOfList } from '../../core/lists/list-key.ts';

/** Maximum number of hints sent together. More become one hint that anything may have changed. */
export const maxHints = 300;

const anything: ChangeHint = { any: true };

export class PendingHints {
  #hints = new Map<string, ChangeHint>();
  #isAny = false;

  get isEmpty(): boolean {
    return !this.#isAny && this.#hints.size === 0;
  }

  /** Adds a hint, in the place of its first occurrence. */
  add(hint: ChangeHint): void {
    if (this.#isAny) return;
    if (!('any' in hint)) {
      this.#hints.set(keyOf(hint), hint);
      if (this.#hints.size <= maxHints) return;
    }
    this.#isAny = true;
    this.#hints.clear();
  }

  /** Returns the hints in their order, and forgets them. */
  take(): readonly ChangeHint[] {
    const hints = this.#isAny ? [anything] : [...this.#hints.values()];
    this.#isAny = false;
    this.#hints.clear();
    return hints;
  }
}

/** Returns a text of its own for each hint. */
function keyOf(hint: Exclude<ChangeHint, { readonly any: true }>): string {
  if ('list' in hint) return `list ${keyOfList(hint.list)}`;
  return 'below' in hint ? `below ${hint.below}` : 'flushed';
}
