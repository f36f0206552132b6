// Groups of addresses for limits: an IPv6 client can use any address of its network.
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

/** Returns an IPv4 address, or the /64 network of an IPv6 address. */
export function addressGroup(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const embedded = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (embedded !== undefined) return embedded;
  const [head = '', tail] = plain.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  // A dotted end stands for two groups, which are never among the first four.
  const known = before.length + after.length + (after.at(-1)?.includes('.') === true ? 1 : 0);
  const groups = tail === undefined ? before : [...before, ...Array<string>(8 - known).fill('0'), ...after];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/**
 * Returns the network that can belong to one client as a whole: that of 48 bits of an IPv6 address, with 65,536 groups of
 * addresses, and an IPv4 address.
 */
export function networkOf(address: string): string {
  const group = addressGroup(address);
  return group.includes(':') ? group.split(':', 3).join(':') : group;
}

/**
 * Returns the name of a user, or of anonymous clients, among those who share a resource: with the network as its group, because
 * one client can have many names and addresses.
 */
export function partyOf(userId: string | undefined, address: string | undefined): string | undefined {
  return address === undefined ? userId : `${networkOf(address)} ${addressGroup(address)} ${userId ?? ''}`;
}

/** Returns the address group as a requester of security state: a hash, because a proxy may forward any text as an address. */
export function requesterOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  return createHash('sha256').update(addressGroup(address)).digest('base64url').slice(0, 22);
}
