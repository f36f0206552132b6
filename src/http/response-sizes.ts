// Sizes of the large answers that were given lately, by path: the next request for the same path is known to be large before
// its answer is built.

/** Paths that are remembered. */
const maxPaths = 1000;
/** What is left of a size when a smaller answer follows, such as the answer to a poll. */
const decay = 0.8;

export class ResponseSizes {
  readonly #smallBytes: number;
  readonly #byPath = new Map<string, number>();

  /** @param smallBytes up to which answers are not remembered */
  constructor(smallBytes: number) {
    this.#smallBytes = smallBytes;
  }

  /** About the size of the next answer; 0 when there is no reason to expect a large one. */
  expected(target: string): number {
    return this.#byPath.size === 0 ? 0 : (this.#byPath.get(pathOf(target)) ?? 0);
  }

  note(target: string, bytes: number): void {
    if (bytes <= this.#smallBytes && this.#byPath.size === 0) return;
    const path = pathOf(target);
    const size = Math.max(bytes, (this.#byPath.get(path) ?? 0) * decay);
    this.#byPath.delete(path);
    if (size <= this.#smallBytes) return;
    if (this.#byPath.size >= maxPaths) this.#forgetOldest();
    this.#byPath.set(path, size);
  }

  #forgetOldest(): void {
    const [oldest] = this.#byPath.keys();
    this.#byPath.delete(oldest!);
  }
}

function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark === -1 ? target : target.slice(0, mark);
}
