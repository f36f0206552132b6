// Scheme, host and client address of a request that a trusted proxy forwards. Headers from other peers and malformed values
// are ignored.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

export interface Forwarded {
  readonly scheme?: 'http' | 'https';
  readonly host?: string;
}

const hostForm = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** Whether the address of a peer is trusted. */
export type IsTrusted = (address: string | undefined) => boolean;

/**
 * Compiles `trusted_proxies`.
 *
 * @throws Error for an entry that is neither an address nor a network
 */
export function compileTrusted(entries: readonly string[]): IsTrusted {
  const list = new BlockList();
  for (const entry of entries) addEntry(list, entry);
  if (entries.length === 0) return () => false;
  return (address) => {
    const version = address === undefined ? 0 : isIP(address);
    return version !== 0 && list.check(address!, version === 6 ? 'ipv6' : 'ipv4');
  };
}

const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

function addEntry(list: BlockList, entry: string): void {
  if (Object.hasOwn(named, entry)) {
    for (const network of named[entry]!) addEntry(list, network);
    return;
  }
  const slash = entry.indexOf('/');
  const address = slash === -1 ? entry : entry.slice(0, slash);
  const version = isIP(address);
  const family = version === 6 ? 'ipv6' : 'ipv4';
  const bits = slash === -1 ? (version === 6 ? 128 : 32) : Number(entry.slice(slash + 1) || Number.NaN);
  if (version === 0 || !Number.isInteger(bits) || bits < 0 || bits > (version === 6 ? 128 : 32)) {
    throw new Error(`trusted_proxies names ${entry}; expected IP addresses or networks such as 10.0.0.0/8.`);
  }
  list.addSubnet(address, bits, family);
}

/**
 * Returns the network address of the client: the nearest one that is not a trusted proxy.
 *
 * @returns `''` when the connection is closed
 */
export function clientAddress({ socket, headers }: IncomingMessage, isTrusted: IsTrusted): string {
  let address = socket.remoteAddress ?? '';
  const said = headers['x-forwarded-for'];
  if (said === undefined || !isTrusted(address)) return address;
  const passedOn = (typeof said === 'string' ? said : said.join(',')).split(',');
  for (const next of passedOn.toReversed()) {
    const trimmed = next.trim();
    if (trimmed === '') continue;
    address = withoutPort(trimmed);
    if (!isTrusted(address)) break;
  }
  return address;
}

/** Strips the port that some proxies add: with it, each connection would have an address of its own. */
function withoutPort(text: string): string {
  const address = /^(?:\[([\w:.%]+)\]|([\d.]+))(?::\d+)?$/i.exec(text);
  return address?.[1] ?? address?.[2] ?? text;
}

/**
 * Returns scheme and host from the nearest proxy: the last entry of each header. `Forwarded` counts only without any
 * `X-Forwarded` header: a proxy that sets those may pass on a forged `Forwarded` from the client.
 */
export function readForwarded(headers: IncomingHttpHeaders): Forwarded {
  const proto = lastOf(headers['x-forwarded-proto']);
  const host = lastOf(headers['x-forwarded-host']);
  const isOld = proto !== undefined || host !== undefined || headers['x-forwarded-for'] !== undefined;
  return isOld ? checked(proto, host) : readStandard(lastOf(headers['forwarded']));
}

function lastOf(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header : header?.join(',');
  return text?.slice(text.lastIndexOf(',') + 1).trim();
}

/** Parses an element of RFC 7239: `for=192.0.2.1;proto=https;host="api.example.org:8443"`. */
function readStandard(element: string | undefined): Forwarded {
  const pairs = new Map<string, string>();
  for (const pair of element?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals === -1) continue;
    const value = pair.slice(equals + 1).trim();
    const bare = value.startsWith('"') && value.endsWith('"') && value.length > 1 ? value.slice(1, -1) : value;
    pairs.set(pair.slice(0, equals).trim().toLowerCase(), bare);
  }
  return checked(pairs.get('proto'), pairs.get('host'));
}

function checked(proto: string | undefined, host: string | undefined): Forwarded {
  const scheme = proto?.toLowerCase();
  return {
    ...(scheme === 'http' || scheme === 'https' ? { scheme } : {}),
    ...(host !== undefined && hostForm.test(host) ? { host } : {}),
  };
}
