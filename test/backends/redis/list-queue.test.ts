// The queues of lists in one process: in order, one unit at a time, and without circular waits.
import { describe, expect, it } from 'vitest';
import { ListQueue } from '../../../src/backends/redis/list-queue.ts';
import { LockWaits } from '../../../src/backends/redis/lock-waits.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';

const patienceMs = 5000;

describe('list queues', () => {
  it('give a list to the units in the order of their calls.', async () => {
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

  it('do not give a list to a unit that has given up.', async () => {
    const turns = new ListQueue(new LockWaits(20));
    const [first, second, third] = [{}, {}, {}];
    await turns.take('list', first);
    await expect(turns.take('list', second)).rejects.toBeInstanceOf(BackendUnavailable);
    const taking = turns.take('list', third);
    turns.release('list', second);
    turns.release('list', first);
    await taking;
  });

  it('give a list again to the unit that has it.', async () => {
    const turns = new ListQueue(new LockWaits(patienceMs));
    const holder = {};
    await turns.take('list', holder);
    await turns.take('list', holder);
    turns.release('list', holder);
    await turns.take('list', {});
  });

  it('ignore a release by a unit that does not have the list.', async () => {
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

  it('refuse a unit that would wait for itself.', async () => {
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

  it('take waiting units into account.', async () => {
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
