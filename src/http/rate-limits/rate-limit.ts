// Rate limits, and the requests to which they apply.
import type { Method } from '../../engine/endpoint.ts';

/** Grouping of requests: by user, by address, or all together. */
export type CountedBy = 'user' | 'address' | 'all';

export interface RateLimit {
  /** Consists of letters, digits, `_` and `-`; it appears in headers. */
  readonly name: string;
  readonly requests: number;
  readonly windowSeconds: number;
  readonly by: CountedBy;
  /** Empty for all methods; GET includes HEAD. */
  readonly methods: readonly Method[];
  /** Paths below the version prefix, in which `*` matches one segment and `**` any text; empty for all paths. */
  readonly paths: readonly string[];
}

/** A compiled rate limit. */
export class Rule {
  readonly name: string;
  readonly requests: number;
  readonly windowSeconds: number;
  readonly by: CountedBy;
  /** Value for the header `RateLimit-Policy`. */
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
