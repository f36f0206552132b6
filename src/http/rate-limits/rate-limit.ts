// What a rate limit is, and which requests it is about.
import type { Method } from '../../engine/endpoint.ts';

/** Whose requests are counted together: those of a user, of an address, or all there are. */
export type CountedBy = 'user' | 'address' | 'all';

export interface RateLimit {
  /** Of letters, digits, `_` and `-`: it stands in headers. */
  readonly name: string;
  readonly requests: number;
  readonly windowSeconds: number;
  readonly by: CountedBy;
  /** Empty: all; GET counts HEAD in. */
  readonly methods: readonly Method[];
  /** Paths below the version prefix, in which `*` is one segment and `**` anything; empty: all. */
  readonly paths: readonly string[];
}

/** A limit, ready to be asked. */
export class Rule {
  readonly name: string;
  readonly requests: number;
  readonly windowSeconds: number;
  readonly by: CountedBy;
  /** For the header `RateLimit-Policy`. */
  readonly policy: string;
  readonly #methods: ReadonlySet<string> | undefined;
  readonly #paths: RegExp | undefined;

  constructor({ name, requests, windowSeconds, by, methods, paths }: RateLimit) {
    this.name = name;
    this.requests = requests;
    this.windowSeconds = windowSeconds;
    this.by = by;
    this.policy = `"${name}";q=${requests};w=${windowSeconds}`;
    const all = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
    this.#methods = methods.length === 0 ? undefined : new Set(all);
    this.#paths = paths.length === 0 ? undefined : new RegExp(`^(?:${paths.map(sourceOf).join('|')})$`, 's');
  }

  /** @param path decoded, below the version prefix */
  isAbout(method: string, path: string): boolean {
    return (
      (this.#methods === undefined || this.#methods.has(method)) &&
      (this.#paths === undefined || this.#paths.test(path))
    );
  }
}

function sourceOf(path: string): string {
  return path
    .replaceAll(/[\\^$.|+?()[\]{}]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, (stars) => (stars.length > 1 ? '.*' : '[^/]+'));
}
