// Opens the memcached cache as the settings say.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import { findMemcachedHosts, memcachedHostsForm } from '../settings/memcached-hosts.ts';
import type { Settings } from '../settings/settings.ts';

const defaultMaxBacklog = 1000;

export async function openMemcachedCache(settings: Settings, clock: Clock): Promise<CacheBackend> {
  const hosts = findMemcachedHosts(settings.get('cache_hosts'));
  // Settings were checked when they were loaded.
  if (hosts === undefined) throw new Error(`cache_hosts: expected ${memcachedHostsForm}`);
  const { openMemcachedCache: open } = await import('./memcached/cache.ts');
  const maxBacklog = settings.get('cache_max_backlog');
  return open({
    hosts,
    clock,
    prefix: settings.get('cache_prefix'),
    timeoutSeconds: settings.get('cache_pool_timeout'),
    maxBacklog: maxBacklog < 0 ? defaultMaxBacklog : maxBacklog,
  });
}
