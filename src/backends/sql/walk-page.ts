// Pages of a walk whose place is the last one found: what the index on its name goes on from.
import type { WalkPage } from '../../contracts/permission.ts';

/** A page with everything that was found; less than the limit is found at the end only. */
export function walkPage<T>(found: readonly T[], limit: number, nameOf: (last: T) => string): WalkPage<T> {
  const last = found.at(-1);
  return { found, next: last === undefined || found.length < limit ? undefined : nameOf(last) };
}
