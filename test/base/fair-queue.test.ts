// Who is next when several want what one can have at a time.
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/base/fair-queue.ts';

/** Takes everything; what is taken costs its party so much. */
function takeAll(queue: FairQueue<string>, costs: Readonly<Record<string, number>>): readonly string[] {
  const taken: string[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
    taken.push(item);
    queue.charge(item.charAt(0), costs[item.charAt(0)] ?? 1);
  }
  return taken;
}

function queueOf(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const item of items) queue.push(item.charAt(0), item);
  return queue;
}

describe('a fair queue', () => {
  it('serves the items of each party in the order of arrival.', () => {
    expect(takeAll(queueOf('a1', 'a2', 'a3'), {})).toEqual(['a1', 'a2', 'a3']);
  });

  it('shows the next item without removing it.', () => {
    const queue = queueOf('a1', 'b1');
    queue.shift();
    queue.charge('a', 1);
    queue.push('a', 'a2');
    expect([queue.first, queue.length]).toEqual(['b1', 2]);
    expect(queue.shift()).toBe('b1');
    expect(new FairQueue<string>().first).toBeUndefined();
  });

  it('alternates between parties with equal cost.', () => {
    expect(takeAll(queueOf('a1', 'a2', 'a3', 'b1', 'b2'), {})).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('prefers the party with less use until both have used the same.', () => {
    const queue = queueOf('a1', 'a2', ...Array.from({ length: 6 }, (_, n) => `b${n}`));
    expect(takeAll(queue, { a: 4, b: 1 })).toEqual(['a1', 'b0', 'b1', 'b2', 'b3', 'a2', 'b4', 'b5']);
  });

  it('gives a late party no claim to earlier shares.', () => {
    const queue = queueOf('a1', 'a2', 'a3', 'a4', 'c1', 'c2');
    const first = [queue.shift(), queue.charge('a', 10), queue.shift(), queue.charge('c', 10), queue.shift()];
    queue.charge('a', 10);
    queue.push('b', 'b1');
    queue.push('b', 'b2');
    expect([first[0], first[2], first[4]]).toEqual(['a1', 'c1', 'a2']);
    expect(takeAll(queue, { a: 10, b: 10, c: 10 })).toEqual(['c2', 'b1', 'a3', 'b2', 'a4']);
  });

  it('forgets all use once no party waits.', () => {
    const queue = queueOf('a1');
    queue.shift();
    queue.charge('a', 1000);
    queue.push('a', 'a2');
    queue.push('b', 'b1');
    expect(takeAll(queue, {})).toEqual(['a2', 'b1']);
  });

  it('counts the items, and returns all of them on clear.', () => {
    const queue = queueOf('a1', 'b1', 'a2');
    expect(queue.length).toBe(3);
    expect([...queue.clear()].toSorted()).toEqual(['a1', 'a2', 'b1']);
    expect([queue.length, queue.shift()]).toEqual([0, undefined]);
  });

  it('starves no party, however many new parties arrive.', () => {
    const queue = queueOf('a1', 'b1');
    queue.shift();
    queue.charge('a', 50);
    queue.push('a', 'a2');
    let turns = 0;
    for (let item = queue.shift(); item !== 'a2'; item = queue.shift()) {
      queue.charge(`party${turns}`, 1);
      queue.push(`party${++turns}`, `item${turns}`);
      expect(turns).toBeLessThan(200);
    }
    expect(turns).toBeGreaterThan(10);
  });

  it('serves any number of arriving and leaving parties.', () => {
    const queue = queueOf('a0');
    const taken = new Set<string>();
    for (let n = 0; n < 5000; n++) {
      queue.push(`party${n}`, `item${n}`);
      const item = queue.shift()!;
      taken.add(item);
      queue.charge(item === 'a0' ? 'a' : `party${item.slice(4)}`, 1);
    }
    expect([taken.size, queue.length]).toEqual([5000, 1]);
  });

  it('shares between groups first, and then between the parties of each.', () => {
    const queue = new FairQueue<string>();
    const names = ['one a', 'one b', 'one c', 'two d'];
    for (const name of [...names, ...names, ...names]) queue.push(name, name);
    const taken: string[] = [];
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      taken.push(name);
      queue.charge(name, 1);
    }
    expect(taken.slice(0, 6).filter((name) => name === 'two d')).toHaveLength(3);
    expect(
      taken
        .filter((name) => name !== 'two d')
        .slice(0, 3)
        .toSorted(),
    ).toEqual(['one a', 'one b', 'one c']);
    expect(taken).toHaveLength(12);
  });

  it('makes room for one group at the cost of another one that has more, however many parties that has.', () => {
    const queue = new FairQueue<string>();
    for (let n = 0; n < 6; n++) queue.push(`many ${n % 3}`, `many${n}`);
    queue.push('few a', 'few0');
    expect([queue.canDisplace('many 0'), queue.canDisplace('many new')]).toEqual([false, true]);
    expect(queue.displace('few b')).toMatch(/^many[345]$/);
    expect(queue.length).toBe(6);
  });

  it('makes room at the cost of those who came last among equals.', () => {
    const queue = new FairQueue<string>();
    for (let n = 0; n < 5; n++) queue.push(`shared ${n}`, `shared${n}`);
    for (const other of ['x', 'y']) for (let n = 0; n < 5; n++) queue.push(`${other} ${n}`, `${other}${n}`);
    const displaced = [];
    for (let n = 0; n < 4; n++) {
      displaced.push(queue.displace('new a')!);
      queue.push('new a', `new${n}`);
    }
    expect(displaced).toEqual(['y4', 'x4', 'shared4', undefined]);
  });

  it('serves any number of groups.', () => {
    const queue = new FairQueue<string>();
    queue.push('first a', 'first');
    let turns = 0;
    for (let item: string | undefined = 'none'; item !== undefined; item = queue.shift()) {
      if (++turns <= 3000) queue.push(`group${turns} a`, `group${turns} a`);
      if (item !== 'none') queue.charge(item, 1);
    }
    expect([turns, queue.length]).toEqual([3002, 0]);
  });
});
