// Reads while a commit is being flushed to the disk.
import { expect, it, onTestFinished } from 'vitest';
import { Connection } from '../../../src/backends/sqlite/connection.ts';
import { Changes, ReadCache } from '../../../src/backends/sqlite/read-cache.ts';
import { Snapshots } from '../../../src/backends/sqlite/snapshots.ts';
import type { Steps } from '../../../src/base/steps.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { openConnection, temporaryPath } from './temporary.ts';

interface Fixture {
  readonly snapshots: Snapshots;
  write(n: number): void;
  /** Returns what a short read sees. */
  short(): readonly number[];
  /** Returns what a long read sees. */
  long(): Promise<readonly number[]>;
  /** A read that ends when the test says so. */
  endless(tell?: () => void): { readonly reading: Promise<void>; readonly end: () => void };
}

async function openSnapshots(): Promise<Fixture> {
  const path = await temporaryPath();
  const writer = openConnection(path);
  writer.exec('CREATE TABLE items (n INTEGER)');
  const snapshots = new Snapshots({
    open: () => new Connection({ path, synchronous: 'OFF', readOnly: true }),
    writer,
    cache: new ReadCache(1_000_000),
  });
  onTestFinished(() => snapshots.close());
  const select = (connection: Connection): readonly number[] =>
    connection.all<[number]>('SELECT n FROM items').map(([n]) => n);
  function* selectSlowly(connection: Connection): Steps<readonly number[]> {
    yield;
    return select(connection);
  }
  return {
    snapshots,
    write: (n) => writer.run('INSERT INTO items VALUES (?)', n),
    short: () => snapshots.run('storage', select),
    long: () => snapshots.read('storage', selectSlowly),
    endless(tell) {
      let isOver = false;
      const reading = snapshots.read('storage', function* () {
        while (!isOver) yield;
        tell?.();
      });
      return { reading, end: () => void (isOver = true) };
    },
  };
}

function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

it('A short read sees the state before a commit, in later turns of the event loop too, until the commit is released.', async () => {
  const { snapshots, write, short } = await openSnapshots();
  write(1);
  expect(short()).toEqual([1]);
  snapshots.hold();
  write(2);
  expect(short()).toEqual([1]);
  await turnOfEventLoop();
  await turnOfEventLoop();
  expect(short()).toEqual([1]);
  snapshots.release(new Changes());
  expect(short()).toEqual([1, 2]);
});

it('The first read after a commit is held sees the state before it.', async () => {
  const { snapshots, write, short } = await openSnapshots();
  snapshots.hold();
  write(1);
  expect(short()).toEqual([]);
});

it('A long read waits until the commit is released, and sees it.', async () => {
  const { snapshots, write, long } = await openSnapshots();
  snapshots.hold();
  write(1);
  let seen: readonly number[] | undefined;
  const reading = long().then((items) => {
    seen = items;
  });
  await turnOfEventLoop();
  await turnOfEventLoop();
  expect(seen).toBeUndefined();
  snapshots.release(new Changes());
  await reading;
  expect(seen).toEqual([1]);
});

it('After a commit that may be lost every read is refused, including waiting ones.', async () => {
  const { snapshots, write, short, long } = await openSnapshots();
  snapshots.hold();
  write(1);
  const reading = long();
  await turnOfEventLoop();
  snapshots.fail(new BackendUnavailable('storage', 'input/output error'));
  await expect(reading).rejects.toThrow(BackendUnavailable);
  expect(short).toThrow(BackendUnavailable);
});

it('A task between long reads runs after those under way, and others wait for its end.', async () => {
  const { snapshots, write, long, endless } = await openSnapshots();
  const order: string[] = [];
  write(1);
  const { reading, end } = endless(() => order.push('first'));
  await turnOfEventLoop();
  const task = snapshots.betweenLongReads(10_000, async () => {
    order.push('task');
    write(2);
    await turnOfEventLoop();
    order.push('end');
  });
  const after = long().then((items) => order.push(`read ${items.length}`));
  await turnOfEventLoop();
  expect(order).toEqual([]);
  end();
  await Promise.all([reading, task, after]);
  expect(order).toEqual(['first', 'task', 'end', 'read 2']);
});

it('A long read that does not end delays the task for a limited time.', async () => {
  const { snapshots, endless } = await openSnapshots();
  const { reading, end } = endless();
  await turnOfEventLoop();
  let isDone = false;
  await snapshots.betweenLongReads(1, async () => {
    isDone = true;
  });
  end();
  await reading;
  expect(isDone).toBe(true);
});

it('A task that needs a long read gets it after a short delay.', async () => {
  const { snapshots, write, long } = await openSnapshots();
  write(1);
  let seen: readonly number[] = [];
  await snapshots.betweenLongReads(1, async () => {
    seen = await long();
  });
  expect(seen).toEqual([1]);
});
