// Cache lifetimes of responses, from settings whose names contain the ids in a path.
import { LRUCache } from 'lru-cache';
import { integer } from '../settings/readers.ts';
import type { Settings } from '../settings/settings.ts';

/** Returns the value of a setting such as `bucket_cache_expires_seconds`, in seconds; `undefined` when it is not set. */
export type CacheLifetimes = (key: string) => number | undefined;

/** Returns a reader that caches the values: every request reads those of its path. */
export function cacheLifetimes(settings: Settings): CacheLifetimes {
  const seconds = new LRUCache<string, { readonly value: number | undefined }>({ max: 1000 });
  return (key) => {
    let known = seconds.get(key);
    if (known === undefined) {
      known = { value: settings.lookupWith(integer({ min: 0 }), key) };
      seconds.set(key, known);
    }
    return known.value;
  };
}
