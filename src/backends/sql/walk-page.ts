// Pages of a walk that continues after the name of the last item, by an index on the names.
import type { WalkPage } from '../../contracts/permission.ts';

/** Returns a page of what was found. Fewer than the limit means that the walk has ended. */
export function walkPage<T>(found: readonly T[], limit: number, nameOf: (last: T) => string): WalkPage<T> {
  const last = found.at(-1);
  return { found, next: last === undefined || found.length < limit ? undefined : nameOf(last) };
}
