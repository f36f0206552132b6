// Protection against SSRF: addresses that deliveries may connect to. Names are resolved for each connection, and the
// connection uses the checked addresses, so that the owner of a name cannot redirect it into the internal network.
import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Networks without possible receivers: link-local (such as cloud metadata), multicast, unspecified. */
const unreachableNetworks = blockList(
  ['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ['::/128', 'fe80::/10', 'fec0::/10', 'ff00::/8', '100::/64'],
);

/** Networks for loopback, private and reserved uses, and those that lead to other addresses in forms that are not decoded here. */
const privateNetworks = blockList(
  [
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '172.16.0.0/12',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
  ],
  ['::1/128', 'fc00::/7', '64:ff9b:1::/48', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '5f00::/16'],
);

function blockList(v4: readonly string[], v6: readonly string[]): BlockList {
  const blocked = new BlockList();
  const add = (subnet: string, family: 'ipv4' | 'ipv6'): void => {
    const [net = '', bits] = subnet.split('/');
    blocked.addSubnet(net, Number(bits), family);
  };
  for (const subnet of v4) add(subnet, 'ipv4');
  for (const subnet of v6) add(subnet, 'ipv6');
  return blocked;
}

/** Returns whether deliveries may connect to an address. */
export function isAllowedAddress(address: string, { allowPrivate }: { readonly allowPrivate: boolean }): boolean {
  const embedded = embeddedIpv4(address);
  const plain = embedded ?? address;
  const family = isIP(plain);
  if (family === 0 || plain.includes('%')) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (unreachableNetworks.check(plain, type)) return false;
  return allowPrivate || !privateNetworks.check(plain, type);
}

/** Returns the IPv4 address embedded in an IPv6 address: mapped, compatible, or translated. */
function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  // The URL parser returns the canonical form with hexadecimal digits only.
  const parsed = URL.canParse(`http://[${address}]`) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : '';
  const match = /^(?:::(?:ffff:(?:0:)?)?|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(parsed);
  if (match === null) return undefined;
  const [high, low] = [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Returns whether the host is an address or localhost, so that no name server decides where it leads. */
export function isLocalName(hostname: string): boolean {
  return isIP(bareHost(hostname)) !== 0 || hostname === 'localhost' || hostname.endsWith('.localhost');
}

/** Returns the host of a URL without the brackets around IPv6 addresses. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';

  constructor(host: string) {
    super(`${host} resolves to an address in a private or reserved network (allow_private)`);
  }
}

/** Returns a lookup function that returns only allowed addresses. */
export function guardedLookup(policy: { readonly allowPrivate: boolean }): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) return callback(error, '');
      const allowed = found.filter(({ address }) => isAllowedAddress(address, policy));
      const [first] = allowed;
      if (first === undefined) return callback(new ForbiddenAddress(hostname), '');
      if (options.all === true) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}
