// Parses the setting that lists the memcached servers of the cache.

export interface MemcachedPlace {
  readonly host: string;
  readonly port: number;
}

const defaultPort = 11_211;

/** The servers when the setting is absent. */
export const defaultMemcachedHosts: readonly string[] = [`127.0.0.1:${defaultPort}`];

/** The accepted form, as a noun phrase for error messages. */
export const memcachedHostsForm = 'different servers as host:port, separated by spaces or commas';

/** Returns the servers of `cache_hosts`; `undefined` when one is invalid or listed twice. */
export function findMemcachedHosts(hosts: readonly string[]): readonly MemcachedPlace[] | undefined {
  const places = (hosts.length === 0 ? defaultMemcachedHosts : hosts).map(parsePlace);
  const found = places.filter((place) => place !== undefined);
  const names = new Set(found.map(({ host, port }) => `${host}:${port}`));
  return names.size === places.length ? found : undefined;
}

function parsePlace(text: string): MemcachedPlace | undefined {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]\s/]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[2] ?? defaultPort);
  if (match === null || port === 0 || port > 65_535) return undefined;
  return { host: match[1]!.replaceAll(/[[\]]/g, ''), port };
}
