// Parses the setting that names a Redis server or cluster.

export interface RedisAddress {
  /** The server, or some nodes of a cluster, which know the others. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly isCluster: boolean;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Number of the database; clusters have only 0. */
  readonly db: number;
}

/** The server when the setting is absent. */
export const defaultRedisUrl = 'redis://127.0.0.1:6379/0';

/** The accepted form, as a noun phrase for error messages. */
export const redisUrlForm =
  'redis://[[user]:password@]host[:port][/database], rediss:// for TLS, or redis+cluster://host:port,host:port';

const pattern = /^(redis|rediss|redis\+cluster|rediss\+cluster):\/\/(?:([^/@]*)@)?([^/@?#]+)(?:\/(\d{1,5})?)?$/;

/** Returns the address of `storage_url` and similar settings; `undefined` for other URLs. */
export function findRedisAddress(url: string | undefined): RedisAddress | undefined {
  const match = pattern.exec(url === undefined || url === '' ? defaultRedisUrl : url);
  if (match === null) return undefined;
  const [, scheme = '', credentials = '', hosts = '', db = '0'] = match;
  const isCluster = scheme.endsWith('+cluster');
  const nodes = hosts.split(',').map(parseNode);
  const [username, password] = splitCredentials(credentials);
  if (nodes.includes(undefined) || (!isCluster && nodes.length > 1) || (isCluster && Number(db) !== 0))
    return undefined;
  return {
    nodes: nodes.filter((node) => node !== undefined),
    isCluster,
    tls: scheme.startsWith('rediss'),
    username,
    password,
    db: Number(db),
  };
}

/** Returns the hosts and ports, without credentials, for messages. */
export function formatNodes({ nodes }: Pick<RedisAddress, 'nodes'>): string {
  return nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
}

/** Returns the address without a password: one text for every way to write it. */
export function formatRedisPlace(address: RedisAddress): string {
  const { isCluster, tls, username, db } = address;
  const scheme = `redis${tls ? 's' : ''}${isCluster ? '+cluster' : ''}`;
  const hosts = formatNodes(address).split(',').toSorted();
  const user = username === undefined ? '' : `${encodeURIComponent(username)}@`;
  return `${scheme}://${user}${hosts.join()}${isCluster ? '' : `/${db}`}`;
}

/** Returns the same text for every way to write an address, so that backends of one server are recognised. */
export function redisIdentity({ nodes, isCluster, tls, username, db }: RedisAddress): string {
  const hosts = nodes.map(({ host, port }) => `${host}:${port}`).toSorted();
  return JSON.stringify([hosts, isCluster, tls, username, db]);
}

function parseNode(text: string): { host: string; port: number } | undefined {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[2] ?? 6379);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
}

/** Splits percent-encoded user and password. The colon is required before a password without a user. */
function splitCredentials(text: string): readonly [user: string | undefined, password: string | undefined] {
  const colon = text.indexOf(':');
  const [user, password] = colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  return [decode(user), decode(password)];
}

function decode(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
