// Sizes of recent large responses by path, which predict the size of the next response to the same path.
import { pathOf } from './request-host.ts';

/** Maximum number of paths. */
const maxPaths = 1000;
/** Factor of a size when a smaller response follows, such as that to a poll. */
const decay = 0.8;

export class ResponseSizes {
  readonly #smallBytes: number;
  readonly #byPath = new Map<string, number>();

  /** @param smallBytes maximum size of responses that are ignored */
  constructor(smallBytes: number) {
    this.#smallBytes = smallBytes;
  }

  /** Returns the expected size of the next response; 0 for a small one. */
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
