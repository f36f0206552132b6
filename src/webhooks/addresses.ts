// Which machines deliveries may go to. A name is resolved for each connection and the very addresses that were checked
// are connected to, so that whoever owns the name cannot point it at the inside of our network.
import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Nowhere that a receiver could be: link-local addresses (of cloud metadata, above all), multicast, unspecified. */
const unreachableNetworks = blockList(
  ['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ['::/128', 'fe80::/10', 'fec0::/10', 'ff00::/8', '100::/64'],
);

/** This machine and the networks around it, and addresses that stand for others in ways we do not look through. */
const privateNetworks = blockList(
  ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ['::1/128', 'fc00::/7', '64:ff9b:1::/48', '2001::/23', '2001:db8::/32', '2002::/16'],
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

/** Whether deliveries may go to an address. */
export function isAllowedAddress(address: string, { allowPrivate }: { readonly allowPrivate: boolean }): boolean {
  const embedded = embeddedIpv4(address);
  const plain = embedded ?? address;
  const family = isIP(plain);
  if (family === 0 || plain.includes('%')) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (unreachableNetworks.check(plain, type)) return false;
  return allowPrivate || !privateNetworks.check(plain, type);
}

/** The IPv4 address inside of an IPv6 address that only stands for one: mapped, compatible, or translated. */
function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  // The parser of URLs writes every IPv6 address in its one canonical form, with hexadecimal digits only.
  const parsed = URL.canParse(`http://[${address}]`) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : '';
  const match = /^(?:::(?:ffff:(?:0:)?)?|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(parsed);
  if (match === null) return undefined;
  const [high, low] = [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Whether a URL names its host by address, or names this machine: nobody but its author decides where that leads. */
export function isLocalName(hostname: string): boolean {
  return isIP(bareHost(hostname)) !== 0 || hostname === 'localhost' || hostname.endsWith('.localhost');
}

/** The host of a URL without the brackets around IPv6 addresses. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';

  constructor(host: string) {
    super(`${host} leads to an address in a private or reserved network (allow_private)`);
  }
}

/** Resolves names for connections, and gives away addresses that deliveries may go to only. */
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
