// Turns of the units of one process: in order, one at a time, and never waiting in a circle.
import { describe, expect, it } from 'vitest';
import { ListQueue } from '../../../src/backends/redis/list-queue.ts';
import { LockWaits } from '../../../src/backends/redis/lock-waits.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';

const patienceMs = 5000;

describe('turns', () => {
  it('pass from one to the next in the order they asked.', async () => {
    const turns = new ListQueue(new LockWaits(patienceMs));
    const order: number[] = [];
    const holders = [0, 1, 2, 3].map((n) => ({ n }));
    await turns.take('list', holders[0]!);
    const waiting = holders.slice(1).map(async (holder) => {
      await turns.take('list', holder);
      order.push(holder.n);
      turns.release('list', holder);
    });
    turns.release('list', holders[0]!);
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  it('do not come to who has given up.', async () => {
    const turns = new ListQueue(new LockWaits(20));
    const [first, second, third] = [{}, {}, {}];
    await turns.take('list', first);
    await expect(turns.take('list', second)).rejects.toBeInstanceOf(BackendUnavailable);
    const taking = turns.take('list', third);
    turns.release('list', second);
    turns.release('list', first);
    await taking;
  });

  it('may be taken again by who has them.', async () => {
    const turns = new ListQueue(new LockWaits(patienceMs));
    const holder = {};
    await turns.take('list', holder);
    await turns.take('list', holder);
    turns.release('list', holder);
    await turns.take('list', {});
  });

  it('are not released by who does not have them.', async () => {
    const turns = new ListQueue(new LockWaits(patienceMs));
    const [first, second] = [{}, {}];
    await turns.take('list', first);
    let isTaken = false;
    const taking = turns.take('list', second).then(() => (isTaken = true));
    turns.release('list', second);
    turns.release('other', first);
    await Promise.resolve();
    expect(isTaken).toBe(false);
    turns.release('list', first);
    await taking;
  });

  it('are refused to who would wait for itself.', async () => {
    const turns = new ListQueue(new LockWaits(patienceMs));
    const [a, b, c] = [{}, {}, {}];
    await turns.take('x', a);
    await turns.take('y', b);
    await turns.take('z', c);
    const first = turns.take('y', a);
    const second = turns.take('z', b);
    await expect(turns.take('x', c)).rejects.toBeInstanceOf(TransactionConflict);
    turns.release('z', c);
    await second;
    turns.release('z', b);
    turns.release('y', b);
    await first;
  });

  it('count those who stand in line as well.', async () => {
    const turns = new ListQueue(new LockWaits(patienceMs));
    const [a, b, c] = [{}, {}, {}];
    await turns.take('x', a);
    await turns.take('y', b);
    const queued = turns.take('x', b);
    await expect(turns.take('y', a)).rejects.toBeInstanceOf(TransactionConflict);
    const behind = turns.take('y', c);
    turns.release('x', a);
    await queued;
    turns.release('y', b);
    await behind;
  });
});
