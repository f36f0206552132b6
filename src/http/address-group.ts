// Which addresses are one neighbour as far as limits go: IPv6 gives everybody a network of addresses to choose from.
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';

/** The address, of IPv6 the network of 64 bits that it lies in. */
export function addressGroup(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const embedded = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (embedded !== undefined) return embedded;
  const [head = '', tail] = plain.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  // A dotted end stands for two groups, which are beyond the first four in any case.
  const known = before.length + after.length + (after.at(-1)?.includes('.') === true ? 1 : 0);
  const groups = tail === undefined ? before : [...before, ...Array<string>(8 - known).fill('0'), ...after];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/** The group as a requester of security state: a short text, whatever a proxy has passed on as an address. */
export function requesterOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  return createHash('sha256').update(addressGroup(address)).digest('base64url').slice(0, 22);
}
