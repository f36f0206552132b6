import { describe, expect, it } from 'vitest';
import { UnitQueue } from '../../../src/backends/memory/unit-queue.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { storedUserId } from '../../../src/core/permissions/principals.ts';

describe('unit queue', () => {
  it('opens units in the order of the calls', async () => {
    const queue = new UnitQueue();
    const order: number[] = [];
    await Promise.all(
      [1, 2, 3, 4].map(async (n) => {
        const unit = await queue.begin();
        order.push(n);
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        order.push(n);
        await (n % 2 === 0 ? unit.commit() : unit.rollback());
      }),
    );
    expect(order).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
  });

  it('delays a user with one unit by one unit of a user with many', async () => {
    const queue = new UnitQueue();
    const order: string[] = [];
    const first = await queue.begin(storedUserId('zoe'));
    const others = ['zoe', 'zoe', 'zoe', 'tom'].map(async (userId) => {
      const unit = await queue.begin(storedUserId(userId));
      order.push(userId);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      await unit.commit();
    });
    await first.commit();
    await Promise.all(others);
    expect(order).toEqual(['tom', 'zoe', 'zoe', 'zoe']);
  });

  it('runs reads at once while the unit has no writes', async () => {
    const queue = new UnitQueue();
    let ran = 0;
    await queue.begin();
    void queue.read(() => ran++);
    expect(ran).toBe(1);
  });

  it('runs waiting reads between a unit with writes and the next one', async () => {
    const queue = new UnitQueue();
    const first = await queue.begin();
    let value = 'changed';
    first.record(() => (value = 'original'));
    const reads = [queue.read(() => value), queue.read(() => value)];
    const next = queue.begin().then((unit) => {
      value = 'changed again';
      unit.record(() => (value = 'original'));
      return unit;
    });
    await first.rollback();
    const second = await next;
    expect(await Promise.all(reads)).toEqual(['original', 'original']);
    await second.commit();
    expect(await queue.read(() => value)).toBe('changed again');
  });

  it('undoes changes in reverse order', async () => {
    const queue = new UnitQueue();
    const unit = await queue.begin();
    const undone: number[] = [];
    for (const n of [1, 2, 3]) unit.record(() => undone.push(n));
    await unit.rollback();
    expect(undone).toEqual([3, 2, 1]);
  });

  it('rejects a failed read and runs the others', async () => {
    const queue = new UnitQueue();
    const unit = await queue.begin();
    unit.record(() => undefined);
    const failing = queue.read(() => {
      throw new Error('broken read');
    });
    const working = queue.read(() => 'fine');
    await unit.commit();
    await expect(failing).rejects.toThrow('broken read');
    expect(await working).toBe('fine');
  });

  it('refuses operations of a unit that has ended', async () => {
    const queue = new UnitQueue();
    const unit = await queue.begin();
    await unit.commit();
    await expect(unit.run(() => 1)).rejects.toThrow(/ended/);
    await expect(unit.commit()).rejects.toThrow(/ended/);
    await expect(unit.rollback()).resolves.toBeUndefined();
  });

  it('opens one next unit only when a unit is rolled back twice', async () => {
    const queue = new UnitQueue();
    const first = await queue.begin();
    const second = queue.begin();
    let third = false;
    void queue.begin().then(() => (third = true));
    await first.rollback();
    await first.rollback();
    await second;
    expect(third).toBe(false);
  });

  it('closes after the units that called before, and refuses others', async () => {
    const queue = new UnitQueue();
    const first = await queue.begin();
    const second = queue.begin();
    const ended: string[] = [];
    const closing = queue.close().then(() => ended.push('closed'));
    await expect(queue.begin()).rejects.toBeInstanceOf(BackendUnavailable);
    ended.push('first');
    await first.commit();
    const unit = await second;
    ended.push('second');
    await unit.commit();
    await closing;
    expect(ended).toEqual(['first', 'second', 'closed']);
    await queue.close();
  });
});
