import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connection, type SqlValue } from '../../../src/backends/sqlite/connection.ts';
import {
  WriterQueue,
  type CommitHooks,
  type WriterQueueOptions,
  type WriterUnit,
} from '../../../src/backends/sqlite/writer-queue.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { openConnection, temporaryPath } from './temporary.ts';

/** Records the transactions that it ran. */
class WatchedConnection extends Connection {
  readonly ends: string[] = [];
  savepoints = 0;
  /** A statement that fails. */
  failing = '';

  override run(sql: string, ...parameters: readonly SqlValue[]): number {
    if (sql === this.failing) throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    if (sql.startsWith('SAVEPOINT')) this.savepoints++;
    if (sql === 'COMMIT' || sql === 'ROLLBACK') this.ends.push(sql);
    return super.run(sql, ...parameters);
  }
}

interface Fixture {
  readonly path: string;
  readonly connection: WatchedConnection;
  readonly queue: WriterQueue;
  /** Returns the committed items, in the order of their inserts. */
  committed(): readonly number[];
}

async function openQueue(options: WriterQueueOptions = {}, hooks: CommitHooks = {}): Promise<Fixture> {
  const path = await temporaryPath();
  const connection = new WatchedConnection({ path, synchronous: 'OFF' });
  onTestFinished(() => connection.close());
  connection.exec(`
    PRAGMA foreign_keys = ON;
    CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE items (item INTEGER PRIMARY KEY, n INTEGER UNIQUE,
      parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
  `);
  const reader = openConnection(path);
  return {
    path,
    connection,
    // So long that only the number of units ends a group early, where a test does not say otherwise.
    queue: new WriterQueue(connection, { maxGroupMilliseconds: 60_000, longUnitMs: Infinity, ...options }, hooks),
    committed: () => reader.all<[number]>('SELECT n FROM items ORDER BY item').map(([n]) => n),
  };
}

function insert(unit: WriterUnit, n: number): void {
  unit.run('storage', (connection) => connection.run('INSERT INTO items (n) VALUES (?)', n));
}

/** A unit that fails only when its group is committed. */
function insertOrphan(unit: WriterUnit, n: number): void {
  unit.run('storage', (connection) => connection.run('INSERT INTO items (n, parent) VALUES (?, 404)', n));
}

/** As on a full disk: the statement fails and ends the whole transaction. */
function loseTransaction(unit: WriterUnit): void {
  unit.run('storage', (connection) => {
    connection.run('INSERT OR ROLLBACK INTO items (item) VALUES (?)', -1);
    connection.run('INSERT OR ROLLBACK INTO items (item) VALUES (?)', -1);
  });
}

function items(unit: WriterUnit): readonly number[] {
  return unit
    .run('storage', (connection) => connection.all<[number]>('SELECT n FROM items ORDER BY item'))
    .map(([n]) => n);
}

/** A disk whose flushes end when the test says so. */
function slowDisk(): {
  readonly flush: () => Promise<void>;
  readonly flushes: Flush[];
  /** Waits until this many flushes have begun. */
  readonly begun: (count: number) => Promise<void>;
} {
  const flushes: Flush[] = [];
  const flush = (): Promise<void> =>
    new Promise((resolve, reject) => {
      flushes.push({ resolve, reject });
    });
  const begun = async (count: number): Promise<void> => {
    while (flushes.length < count) await turnOfEventLoop();
  };
  return { flush, flushes, begun };
}

interface Flush {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

async function write(queue: WriterQueue, n: number): Promise<void> {
  const unit = await queue.begin();
  insert(unit, n);
  await unit.commit();
}

function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('the writer queue', () => {
  it('commits a unit before it is answered', async () => {
    const { queue, committed } = await openQueue();
    await write(queue, 1);
    expect(committed()).toEqual([1]);
  });

  it('shares one commit among units that arrive together', async () => {
    const { queue, committed, connection } = await openQueue();
    await Promise.all(Array.from({ length: 30 }, (_, n) => write(queue, n)));
    expect(committed()).toEqual(Array.from({ length: 30 }, (_, n) => n));
    expect(connection.ends).toEqual(['COMMIT']);
  });

  it.each(['SAVEPOINT unit', 'RELEASE unit'])('refuses all units of a group in which %s fails', async (sql) => {
    const { queue, connection, committed } = await openQueue();
    connection.failing = sql;
    const outcomes = await Promise.allSettled([write(queue, 1), write(queue, 2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    connection.failing = '';
    await write(queue, 3);
    expect(committed()).toEqual([3]);
  });

  it('adds a request of the same turn of the event loop to the group', async () => {
    const { queue, connection } = await openQueue();
    const first = write(queue, 1);
    for (let step = 0; step < 20; step++) await Promise.resolve();
    const second = write(queue, 2);
    await Promise.all([first, second]);
    expect(connection.ends).toEqual(['COMMIT']);
  });

  it('gives savepoints, in which SQLite is slow, only to units after the first of a group; each can be undone', async () => {
    const { queue, connection, committed } = await openQueue();
    const all = [1, 2, 3, 4].map(async (n) => {
      const unit = await queue.begin();
      expect(connection.savepoints).toBe(n - 1);
      insert(unit, n);
      await (n % 2 === 1 ? unit.rollback() : unit.commit());
    });
    await Promise.all(all);
    expect(committed()).toEqual([2, 4]);
    expect(connection.ends).toEqual(['ROLLBACK', 'COMMIT']);
    await write(queue, 5);
    expect(connection.savepoints).toBe(3);
    expect(committed()).toEqual([2, 4, 5]);
  });

  it('answers no unit before its group is committed, and all of them then', async () => {
    const { queue, committed } = await openQueue();
    const first = await queue.begin();
    insert(first, 1);
    let answered = false;
    const waiting = queue.begin();
    const answer = first.commit().then(() => {
      answered = true;
    });
    const second = await waiting;
    await turnOfEventLoop();
    await turnOfEventLoop();
    expect([answered, committed()]).toEqual([false, []]);
    await second.commit();
    await answer;
    expect(committed()).toEqual([1]);
  });

  it('answers a unit without writes only when the state that it has seen is durable', async () => {
    const { queue, committed } = await openQueue();
    const first = await queue.begin();
    insert(first, 1);
    const [, seen] = await Promise.all([
      first.commit(),
      queue.begin().then(async (second) => {
        const all = items(second);
        await second.rollback();
        expect(committed()).toEqual(all);
        return all;
      }),
    ]);
    expect(seen).toEqual([1]);
  });

  it('opens units in the order of the calls', async () => {
    const { queue, committed } = await openQueue({ maxGroupUnits: 3 });
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const unit = await queue.begin();
        order.push(n);
        if (n % 2 === 0) await turnOfEventLoop();
        insert(unit, n);
        await unit.commit();
      }),
    );
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(committed()).toEqual(order);
  });

  it('never opens two units at once, however long one takes', async () => {
    const { queue } = await openQueue();
    let holders = 0;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const unit = await queue.begin();
        holders++;
        for (let turn = 0; turn < 3; turn++) await turnOfEventLoop();
        expect(holders).toBe(1);
        holders--;
        await unit.commit();
      }),
    );
  });

  it('commits a group that has its number of units, although more are waiting', async () => {
    const { queue, connection } = await openQueue({ maxGroupUnits: 4 });
    await Promise.all(Array.from({ length: 10 }, (_, n) => write(queue, n)));
    expect(connection.ends).toEqual(['COMMIT', 'COMMIT', 'COMMIT']);
  });

  it('commits a group that has used up its time, although more are waiting', async () => {
    const { queue, connection } = await openQueue({ maxGroupMilliseconds: 0 });
    await Promise.all(Array.from({ length: 5 }, (_, n) => write(queue, n)));
    expect(connection.ends).toHaveLength(5);
  });

  it('commits the waiting units of others before a unit that is expected to be long', async () => {
    const { queue, connection } = await openQueue({ longUnitMs: 0 });
    const long = await queue.begin({ party: 'long' });
    const other = queue.begin({ party: 'other' });
    const next = queue.begin({ party: 'long' });
    void long.commit();
    const unit = await other;
    const answer = unit.commit();
    await answer;
    expect(connection.ends).toEqual(['COMMIT']);
    await (await next).commit();
    expect(connection.ends).toEqual(['COMMIT', 'COMMIT']);
  });

  it('commits units together that are expected to be short', async () => {
    const { queue, connection } = await openQueue();
    const first = await queue.begin({ party: 'first' });
    const others = ['other', 'first'].map((party) => queue.begin({ party }));
    void first.commit();
    await Promise.all(others.map(async (other) => (await other).commit()));
    expect(connection.ends).toEqual(['COMMIT']);
  });

  it('undoes a rolled-back unit and nothing of its neighbours', async () => {
    const { queue, committed, connection } = await openQueue();
    await Promise.all(
      Array.from({ length: 9 }, async (_, n) => {
        const unit = await queue.begin();
        insert(unit, n);
        await (n % 3 === 1 ? unit.rollback() : unit.commit());
      }),
    );
    expect(committed()).toEqual([0, 2, 3, 5, 6, 8]);
    expect(connection.ends).toEqual(['COMMIT']);
  });

  it('continues a unit after a failed statement', async () => {
    const { queue, committed } = await openQueue();
    await write(queue, 1);
    const unit = await queue.begin();
    insert(unit, 2);
    expect(() => insert(unit, 1)).toThrow(/constraint/);
    insert(unit, 3);
    await unit.commit();
    expect(committed()).toEqual([1, 2, 3]);
  });

  it('has the same effect in any interleaving as one unit after the other', async () => {
    const step = fc.record({ keep: fc.boolean(), pauses: fc.nat(2), writes: fc.nat(2), delay: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.nat(3),
        async (steps, maxGroupUnits, flushTurns) => {
          const flush = async (): Promise<void> => {
            const written = committed();
            for (let turn = 0; turn < flushTurns; turn++) await turnOfEventLoop();
            for (const n of written) durable.add(n);
          };
          const { queue, committed } = await openQueue({ maxGroupUnits }, { flush });
          const durable = new Set<number>();
          const expected: number[] = [];
          let next = 0;
          await Promise.all(
            steps.map(async ({ keep, pauses, writes, delay }) => {
              for (let turn = 0; turn < delay; turn++) await turnOfEventLoop();
              const unit = await queue.begin();
              expect(items(unit)).toEqual(expected);
              const own: number[] = [];
              for (let n = 0; n < writes; n++) {
                insert(unit, next);
                own.push(next++);
                for (let turn = 0; turn < pauses; turn++) await turnOfEventLoop();
              }
              if (keep) expected.push(...own);
              await (keep ? unit.commit() : unit.rollback());
              if (keep) expect([...durable]).toEqual(expect.arrayContaining(own));
            }),
          );
          expect(committed()).toEqual(expected);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('a group that has to be flushed', () => {
  it('is answered when its flush has ended, and not before', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue, committed } = await openQueue({}, { flush });
    let answered = 0;
    const writing = Promise.all([1, 2].map((n) => write(queue, n).then(() => answered++)));
    await begun(1);
    await turnOfEventLoop();
    expect([answered, committed(), flushes.length]).toEqual([0, [1, 2], 1]);
    flushes[0]!.resolve();
    await writing;
    expect(answered).toBe(2);
  });

  it('contains the units that arrive during the flush of the previous one, and is committed after it', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue, connection, committed } = await openQueue({ maxGroupMilliseconds: 0 }, { flush });
    const first = write(queue, 1);
    await begun(1);
    const others: Promise<void>[] = [];
    for (let n = 2; n < 6; n++) {
      others.push(write(queue, n));
      await turnOfEventLoop();
    }
    expect(committed()).toEqual([1]);
    flushes[0]!.resolve();
    await first;
    await begun(2);
    flushes[1]!.resolve();
    await Promise.all(others);
    expect([committed(), connection.ends]).toEqual([
      [1, 2, 3, 4, 5],
      ['COMMIT', 'COMMIT'],
    ]);
  });

  it('does not exceed its limits for it', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue, connection } = await openQueue({ maxGroupUnits: 2 }, { flush });
    const writing = Promise.all([1, 2, 3, 4, 5].map((n) => write(queue, n)));
    for (let count = 1; count <= 3; count++) {
      await begun(count);
      flushes[count - 1]!.resolve();
    }
    await writing;
    expect(connection.ends).toEqual(['COMMIT', 'COMMIT', 'COMMIT']);
  });

  it('is refused when the flush fails, together with all later units and those that have seen it', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue } = await openQueue({}, { flush });
    const lost = write(queue, 1);
    await begun(1);
    const unit = await queue.begin();
    expect(items(unit)).toEqual([1]);
    const waiting = queue.begin();
    flushes[0]!.reject(new Error('EIO'));
    await expect(lost).rejects.toThrow(BackendUnavailable);
    await expect(lost).rejects.toMatchObject({ isUndone: false });
    expect(() => items(unit)).toThrow(BackendUnavailable);
    await unit.rollback();
    await expect(waiting).rejects.toThrow(BackendUnavailable);
    await expect(queue.begin()).rejects.toThrow(BackendUnavailable);
    await queue.close();
  });

  it('is not awaited by background work, which can be repeated', async () => {
    const { flush, flushes } = slowDisk();
    const { queue, committed } = await openQueue({}, { flush });
    const unit = await queue.begin({ priority: 'background' });
    insert(unit, 1);
    await unit.commit();
    expect(committed()).toEqual([1]);
    expect(flushes).toHaveLength(0);
  });

  it('is awaited by background work that shares the group of others, and settles earlier unflushed work', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue, committed } = await openQueue({}, { flush });
    const alone = await queue.begin({ priority: 'background' });
    insert(alone, 1);
    await alone.commit();
    const unit = await queue.begin();
    insert(unit, 2);
    const waiting = queue.begin({ priority: 'background' });
    const answer = unit.commit();
    const background = await waiting;
    insert(background, 3);
    let isAnswered = false;
    const both = Promise.all([answer, background.commit()]).then(() => (isAnswered = true));
    await begun(1);
    await turnOfEventLoop();
    expect(committed()).toEqual([1, 2, 3]);
    expect(isAnswered).toBe(false);
    flushes[0]!.resolve();
    await both;
  });

  it('is flushed by itself after much unflushed background work', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue } = await openQueue({}, { flush });
    const many = JSON.stringify(Array.from({ length: 20_000 }, () => null));
    let isFlushing = false;
    const flushing = begun(1).then(() => {
      isFlushing = true;
      flushes[0]!.resolve();
    });
    while (!isFlushing) {
      const unit = await queue.begin({ priority: 'background' });
      unit.run('storage', (connection) => connection.run('INSERT INTO items (n) SELECT NULL FROM json_each(?)', many));
      await unit.commit();
      expect(unit.commitMs).toBeGreaterThan(0);
    }
    await flushing;
    expect(flushes).toHaveLength(1);
  });

  it('is awaited when the queue is closed', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue } = await openQueue({}, { flush });
    let closed = false;
    const writing = write(queue, 1);
    await begun(1);
    const closing = queue.close().then(() => {
      closed = true;
    });
    await turnOfEventLoop();
    expect(closed).toBe(false);
    flushes[0]!.resolve();
    await Promise.all([writing, closing]);
  });
});

describe('a task between two groups', () => {
  it('runs while no unit is open, and delays units that arrive meanwhile', async () => {
    const { queue, connection, committed } = await openQueue();
    const before = await queue.begin();
    insert(before, 1);
    let end = (): void => undefined;
    const task = queue.whileIdle(async () => {
      expect([committed(), connection.inTransaction]).toEqual([[1], false]);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    const after = write(queue, 2);
    await before.commit();
    await turnOfEventLoop();
    await turnOfEventLoop();
    expect(committed()).toEqual([1]);
    end();
    await Promise.all([task, after]);
    expect(committed()).toEqual([1, 2]);
  });

  it('waits for the flush of the previous group', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue } = await openQueue({}, { flush });
    const order: string[] = [];
    const writing = write(queue, 1).then(() => order.push('written'));
    await begun(1);
    const task = queue.whileIdle(async () => {
      order.push('task');
    });
    await turnOfEventLoop();
    expect(order).toEqual([]);
    flushes[0]!.resolve();
    await Promise.all([writing, task]);
    expect(order.toSorted()).toEqual(['task', 'written']);
  });

  it('reports its failure, and delays no unit any longer', async () => {
    const { queue, committed } = await openQueue();
    await expect(queue.whileIdle(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await write(queue, 1);
    expect(committed()).toEqual([1]);
  });
});

describe('a group that fails', () => {
  it('at its commit rejects all its units and leaves nothing behind', async () => {
    const { queue, committed, connection } = await openQueue();
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, async (_, n) => {
        const unit = await queue.begin();
        if (n === 2) insertOrphan(unit, n);
        else insert(unit, n);
        await unit.commit();
      }),
    );
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { backend: 'storage', isUndone: true } });
      expect(result.status === 'rejected' && result.reason).toBeInstanceOf(BackendUnavailable);
    }
    expect(committed()).toEqual([]);
    expect(connection.ends).toEqual(['COMMIT', 'ROLLBACK']);
  });

  it('at its commit is certainly undone, unless the disk has failed', async () => {
    for (const [code, isUndone] of [
      [13, true],
      [10, false],
    ] as const) {
      const before = (): void => {
        throw Object.assign(new Error('the disk'), { code: 'ERR_SQLITE_ERROR', errcode: code });
      };
      const { queue } = await openQueue({}, { before });
      await expect(write(queue, 1)).rejects.toMatchObject({ isUndone });
    }
  });

  it('at its commit does not affect units that rolled back', async () => {
    const { queue } = await openQueue();
    const failing = await queue.begin();
    insertOrphan(failing, 1);
    const rolledBack = queue.begin().then((unit) => unit.rollback());
    await expect(failing.commit()).rejects.toThrow(BackendUnavailable);
    await expect(rolledBack).resolves.toBeUndefined();
  });

  it('leaves the queue usable', async () => {
    const { queue, committed } = await openQueue();
    const failing = await queue.begin();
    insertOrphan(failing, 1);
    await expect(failing.commit()).rejects.toThrow(BackendUnavailable);
    await write(queue, 2);
    expect(committed()).toEqual([2]);
  });

  it('in the middle rejects the earlier units and the failing one, and no later ones', async () => {
    const { queue, committed } = await openQueue();
    const before = await queue.begin();
    insert(before, 1);
    const atFault = queue.begin();
    const after = write(queue, 3);
    const outcome = before.commit().catch((error: unknown) => error);
    const unit = await atFault;
    insert(unit, 2);
    expect(() => loseTransaction(unit)).toThrow(BackendUnavailable);
    expect(() => items(unit)).toThrow(BackendUnavailable);
    expect(await outcome).toBeInstanceOf(BackendUnavailable);
    expect(await outcome).toMatchObject({ isUndone: true });
    await expect(unit.commit()).rejects.toThrow(BackendUnavailable);
    await after;
    expect(committed()).toEqual([3]);
  });

  it('in the middle lets the failing unit roll back without an error', async () => {
    const { queue, committed } = await openQueue();
    const unit = await queue.begin();
    expect(() => loseTransaction(unit)).toThrow(BackendUnavailable);
    await unit.rollback();
    await write(queue, 1);
    expect(committed()).toEqual([1]);
  });

  it('because the file is full rejects the unit as unavailable and undoes it', async () => {
    const { queue, connection, committed } = await openQueue();
    connection.exec('PRAGMA max_page_count = 8');
    const unit = await queue.begin();
    insert(unit, 1);
    const fill = (): number =>
      unit.run('storage', (own) => own.run('CREATE TABLE big AS SELECT zeroblob(100000) AS data'));
    expect(fill).toThrow(/disk is full/);
    await unit.rollback();
    await write(queue, 2);
    expect(committed()).toEqual([2]);
  });
});

describe('an ended unit', () => {
  it('refuses everything but another rollback', async () => {
    const { queue } = await openQueue();
    const unit = await queue.begin();
    await unit.commit();
    expect(() => items(unit)).toThrow('the transaction has ended already');
    await expect(unit.commit()).rejects.toThrow('the transaction has ended already');
    await expect(unit.rollback()).resolves.toBeUndefined();
  });

  it('does not disturb the present one', async () => {
    const { queue, committed } = await openQueue();
    const first = await queue.begin();
    await first.rollback();
    const second = await queue.begin();
    insert(second, 1);
    await first.rollback();
    expect(() => insert(first, 2)).toThrow('the transaction has ended already');
    await second.commit();
    expect(committed()).toEqual([1]);
  });
});

describe('a lock of another process', () => {
  it('during a failure of the disk ends with the refusal of all waiting units, and nothing else', async () => {
    const { flush, flushes, begun } = slowDisk();
    const { queue, path } = await openQueue({}, { flush });
    const first = write(queue, 1);
    await begun(1);
    const other = openConnection(path);
    other.run('BEGIN IMMEDIATE');
    const second = queue.begin();
    await turnOfEventLoop();
    flushes[0]!.reject(new Error('input/output error'));
    for (const refused of [first, second]) await expect(refused).rejects.toThrow();
    other.run('COMMIT');
    // Closing waits for everything that the queue is still about to do.
    await queue.close();
    await expect(queue.begin()).rejects.toThrow(BackendUnavailable);
  });
});

describe('users', () => {
  it('wait for the current unit of another user, and not for all of its waiting ones', async () => {
    const { queue, committed } = await openQueue();
    const first = await queue.begin({ party: 'zoe' });
    const writes = [1, 2, 3].map(async (n) => {
      const unit = await queue.begin({ party: 'zoe' });
      await turnOfEventLoop();
      insert(unit, n);
      await unit.commit();
    });
    const other = queue.begin({ party: 'tom' }).then((unit) => {
      insert(unit, 100);
      return unit.commit();
    });
    await turnOfEventLoop();
    await first.commit();
    await Promise.all([...writes, other]);
    expect(committed()).toEqual([100, 1, 2, 3]);
  });
});

describe('background work', () => {
  it('waits while other units wait', async () => {
    const { queue, committed } = await openQueue();
    const first = await queue.begin();
    const background = queue.begin({ priority: 'background' }).then(async (unit) => {
      insert(unit, 100);
      await unit.commit();
    });
    const others = [1, 2, 3].map((n) => write(queue, n));
    await first.commit();
    await Promise.all([background, ...others]);
    expect(committed()).toEqual([1, 2, 3, 100]);
  });

  it('runs under steady load too', async () => {
    const { queue, committed } = await openQueue();
    const first = await queue.begin();
    const background = queue.begin({ priority: 'background' }).then(async (unit) => {
      insert(unit, 1000);
      await unit.commit();
    });
    const others = Array.from({ length: 200 }, (_, n) => write(queue, n));
    await first.commit();
    await Promise.all([background, ...others]);
    expect(committed().indexOf(1000)).toBeGreaterThan(10);
    expect(committed().indexOf(1000)).toBeLessThan(100);
  });
});

describe('closing the queue', () => {
  it('waits for the open unit and for waiting ones', async () => {
    const { queue, committed } = await openQueue();
    const unit = await queue.begin();
    const waiting = write(queue, 2);
    let closed = false;
    const closing = queue.close().then(() => {
      closed = true;
    });
    await turnOfEventLoop();
    expect(closed).toBe(false);
    insert(unit, 1);
    await unit.commit();
    await closing;
    expect(committed()).toEqual([1, 2]);
    await waiting;
  });

  it('refuses later calls', async () => {
    const { queue } = await openQueue();
    await queue.close();
    await expect(queue.begin()).rejects.toThrow(BackendUnavailable);
  });
});

describe('while another process writes', () => {
  it('a unit waits for its lock without blocking the event loop', async () => {
    const { queue, path, committed } = await openQueue();
    const other = openConnection(path);
    other.run('BEGIN IMMEDIATE');
    other.run('INSERT INTO items (n) VALUES (1)');
    const writing = write(queue, 2);
    for (let turn = 0; turn < 10; turn++) await turnOfEventLoop();
    other.run('COMMIT');
    await writing;
    expect(committed()).toEqual([1, 2]);
  });

  it('all waiting units are refused when the lock is held for too long', async () => {
    const { queue, path, committed } = await openQueue({ busyTimeoutMs: 40 });
    const other = openConnection(path);
    other.run('BEGIN IMMEDIATE');
    const results = await Promise.allSettled([write(queue, 1), write(queue, 2)]);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'BackendUnavailable', backend: 'storage' } });
    }
    other.run('COMMIT');
    await write(queue, 3);
    expect(committed()).toEqual([3]);
  });
});
