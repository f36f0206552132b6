// The parts that the endpoints of the plugin share.
import type { CacheLifetimes } from '../../engine/cache-lifetimes.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { Monitor } from './monitored-collections.ts';
import type { changesSettings } from './settings.ts';

export interface ChangesService {
  readonly host: PluginHost;
  readonly values: ValuesOf<typeof changesSettings>;
  readonly readChanges: Monitor['readChanges'];
  readonly redirects: RedirectOptions;
  readonly lifetimes: CacheLifetimes;
}

export interface RedirectOptions {
  readonly versionPrefix: string;
  /** Target host; `''` keeps the host of the request. */
  readonly host: string;
  /** Scheme of URLs with that host. */
  readonly scheme: string;
  /** Cache lifetime; a negative number sends no cache headers. */
  readonly ttlSeconds: number;
}
