// A limit on concurrent connections per address. Each connection takes a file descriptor and memory, even without requests.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressGroup } from './address-group.ts';
import type { IsTrusted } from './forwarded.ts';

/**
 * Closes new connections beyond the limit.
 *
 * @param isExempt whether an address is a proxy, which has connections of many clients
 */
export function limitConnections(server: Server, maxPerAddress: number, isExempt: IsTrusted): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isExempt(remoteAddress)) return;
    const who = addressGroup(remoteAddress);
    const count = open.get(who) ?? 0;
    if (count >= maxPerAddress) {
      socket.destroy();
      return;
    }
    open.set(who, count + 1);
    socket.once('close', () => {
      const left = open.get(who)! - 1;
      if (left === 0) open.delete(who);
      else open.set(who, left);
    });
  });
}
