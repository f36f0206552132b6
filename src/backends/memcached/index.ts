// The memcached backend, which serves caches only: its description, settings and opener.
import type { BuiltInBackend } from '../../contracts/backend-module.ts';
import { setting } from '../../settings/definition.ts';
import { SettingsError } from '../../settings/problems.ts';
import { list } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import { defaultMemcachedHosts, findMemcachedHosts, memcachedHostsForm, type MemcachedPlace } from './hosts.ts';

const defaultMaxBacklog = 1000;

export const memcachedSettings = {
  cache_hosts: setting(
    list('servers as host:port, separated by spaces or commas'),
    'Memcached servers of the cache, 127.0.0.1:11211 unless set. Each has a part of the keys. All processes must name the same ones.',
    { default: [] },
  ),
};

/** Keeps short-lived values in memcached servers. */
export const memcached: BuiltInBackend = {
  name: 'memcached',
  title: 'Memcached',
  kinds: ['cache'],
  settings: memcachedSettings,
  initialSettings: { cache_hosts: defaultMemcachedHosts.join(' ') },

  readPlace(all) {
    const hosts = readHosts(all).map(({ host, port }) => `${host}:${port}`);
    return { key: `memcached ${hosts.toSorted().join()}`, text: `memcached ${hosts.join(', ')}` };
  },

  async openCache({ settings: all, clock }) {
    const { openMemcachedCache } = await import('./cache.ts');
    const maxBacklog = all.get('cache_max_backlog');
    return openMemcachedCache({
      hosts: readHosts(all),
      clock,
      prefix: all.get('cache_prefix'),
      timeoutSeconds: all.get('cache_pool_timeout'),
      maxBacklog: maxBacklog < 0 ? defaultMaxBacklog : maxBacklog,
    });
  },
};

function readHosts(all: Settings): readonly MemcachedPlace[] {
  const { cache_hosts: given } = all.read(memcachedSettings);
  const hosts = findMemcachedHosts(given);
  if (hosts !== undefined) return hosts;
  throw new SettingsError([{ name: 'cache_hosts', given: given.join(' '), message: `expected ${memcachedHostsForm}` }]);
}
