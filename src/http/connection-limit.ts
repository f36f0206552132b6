// How many connections one address may have at the same time: each takes a descriptor and some memory, whether anything
// is asked over it or not.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressGroup } from './address-group.ts';
import type { IsTrusted } from './forwarded.ts';

/**
 * Closes connections beyond the limit as soon as they are there.
 *
 * @param isExempt of proxies, which bring the connections of many
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
