// Groups of addresses for limits: an IPv6 client can use any address of its network.
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

/** Returns an IPv4 address, also one that an IPv6 address contains, or the /64 network of an IPv6 address. */
export function addressGroup(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const groups = groupsOf(plain);
  const embedded = embedding.has(groups.slice(0, 6).join(':')) ? groups.slice(6) : undefined;
  return embedded === undefined
    ? groups.slice(0, 4).join(':')
    : embedded.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]).join('.');
}

/** Networks of 96 bits whose addresses end with an IPv4 address: mapped and translated ones. */
const embedding: ReadonlySet<string> = new Set(['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0']);

/** Returns the eight groups of an IPv6 address, in hexadecimal digits without leading zeros. */
function groupsOf(address: string): readonly string[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  );
  const [head = '', tail] = hex.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16).toString(16));
}

/**
 * Returns the network that can belong to one client as a whole: that of 48 bits of an IPv6 address, with 65,536 groups of
 * addresses, and an IPv4 address.
 */
export function networkOf(address: string): string {
  return networkOfGroup(addressGroup(address));
}

function networkOfGroup(group: string): string {
  return group.includes(':') ? group.split(':', 3).join(':') : group;
}

/**
 * Returns the name of a user, or of anonymous clients, among those who share a resource: with the network as its group, because
 * one client can have many names and addresses.
 */
export function partyOf(userId: string | undefined, address: string | undefined): string | undefined {
  if (address === undefined) return userId;
  const group = addressGroup(address);
  return `${networkOfGroup(group)} ${group} ${userId ?? ''}`;
}

/** Returns the address group as a requester of security state: a hash, because a proxy may forward any text as an address. */
export function requesterOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  return createHash('sha256').update(addressGroup(address)).digest('base64url').slice(0, 22);
}
