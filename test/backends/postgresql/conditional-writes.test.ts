// Writes that are a unit of work of their own, as one process sends them: together where they can be, and never one waiting
// for the list of another.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { ConditionalWrite } from '../../../src/contracts/database.ts';
import { TransactionConflict } from '../../../src/contracts/errors.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { CountingProxy } from '../../support/counting-proxy.ts';
import { cloneDatabase, openPostgres, type OpenPostgres } from '../../support/postgresql.ts';
import { lockTable } from '../../support/table-lock.ts';

/** The transactions that wrote what has the timestamps. */
const lastTransactions = `SELECT DISTINCT o.xmin FROM coffer_objects o WHERE o.last_modified = ANY ($1::bigint[])
  AND o.parent IN ('/buckets/b/collections/c12', '/buckets/b/collections/c13')`;

let proxy: CountingProxy;
/** By way of the proxy, which brings answers back together. */
let stores: OpenPostgres;
let direct: OpenPostgres;
let drop: () => Promise<void>;
let count = 0;

beforeAll(async () => {
  const database = await cloneDatabase();
  ({ drop } = database);
  proxy = await CountingProxy.start(database.url);
  stores = openPostgres(systemClock, { url: proxy.url, size: 4, maxOverflow: 0 });
  direct = openPostgres(systemClock, { url: database.url, size: 6, maxOverflow: 0 });
  // Lists come into being in a transaction of their own.
  await write(...Array.from({ length: 30 }, (_, n) => newRecord(listOf(n))));
});
afterAll(async () => {
  await stores.database.close();
  await direct.database.close();
  await proxy.close();
  await drop();
});

function listOf(number: number): ListKey {
  return { kind: 'record', parent: `/buckets/b/collections/c${number}` };
}

/** A record under an id that was drawn just now. */
function freshRecord(list: ListKey): ConditionalWrite {
  return { ...newRecord(list), isFresh: true };
}

function newRecord(list: ListKey, text = '{"n":1}'): ConditionalWrite {
  const id = `r${count++}`;
  const uri = `${list.parent}/records/${id}`;
  return { list, id, holder: undefined, expected: undefined, text, uri, entries: { write: ['acme:zoe'] } };
}

function writeTo(
  { database }: OpenPostgres,
  ...writes: readonly ConditionalWrite[]
): Promise<readonly (number | undefined)[]> {
  return Promise.all(writes.map((each) => database.writeConditionally!(each)));
}

function write(...writes: readonly ConditionalWrite[]): Promise<readonly unknown[]> {
  return writeTo(stores, ...writes);
}

describe('writes alone on PostgreSQL', () => {
  it('that come together share one transaction and one round trip, whatever their lists.', async () => {
    const writes = Array.from({ length: 30 }, (_, n) => [newRecord(listOf(n)), newRecord(listOf(n))]).flat();
    // Prepares the statement on the connection.
    await write(newRecord(listOf(0)));
    const cost = await proxy.costOf(async () => {
      expect(await write(...writes)).not.toContain(undefined);
    });
    expect([cost.roundTrips, cost.statements]).toEqual([1, writes.length + 2]);
  });

  it('that create under ids drawn just now are one statement, and done with it.', async () => {
    const writes = Array.from({ length: 30 }, (_, n) => [freshRecord(listOf(n)), freshRecord(listOf(n % 3))]).flat();
    await write(freshRecord(listOf(0)));
    const cost = await proxy.costOf(async () => {
      expect(await write(...writes)).not.toContain(undefined);
    });
    expect([cost.roundTrips, cost.statements]).toEqual([1, 1]);
  });

  it('that create under ids drawn just now wait by themselves for lists that are locked, or not there yet.', async () => {
    const transaction = await direct.database.begin();
    const { timestamp } = await direct.storage.writer(transaction).lock(listOf(7));
    const waiting = writeTo(direct, freshRecord(listOf(7)), freshRecord(listOf(7)));
    let isDone = false;
    void waiting.then(() => (isDone = true));
    const others = await writeTo(direct, ...[8, 9, 100, 100, 101].map((n) => freshRecord(listOf(n))));
    expect(others).not.toContain(undefined);
    expect(new Set(others.slice(2, 4)).size).toBe(2);
    expect(isDone).toBe(false);
    await transaction.commit();
    const stamps = (await waiting) as readonly number[];
    for (const stamp of stamps) expect(stamp).toBeGreaterThan(timestamp!);
    expect(new Set(stamps).size).toBe(2);
  });

  it('that are few wait for those under way, but not for long, and go together.', async () => {
    const table = await lockTable(direct, 'coffer_entries');
    const first = writeTo(direct, ...Array.from({ length: 12 }, (_, n) => freshRecord(listOf(n))));
    await table.waitedForBy(1);
    const late: Promise<readonly (number | undefined)[]>[] = [];
    for (const n of [12, 13, 12]) {
      late.push(writeTo(direct, freshRecord(listOf(n))));
      await table.letLeave();
    }
    await table.waitedForBy(1);
    vi.advanceTimersByTime(10);
    await table.waitedForBy(2);
    await table.release();
    const stamps = [...(await first), ...(await Promise.all(late)).flat()].map((stamp) => stamp ?? 0);
    expect(stamps).not.toContain(0);
    const { rows } = await direct.database.committed('storage').run({ text: lastTransactions }, [stamps.slice(12)]);
    expect(rows).toHaveLength(1);
  });

  it('that are many do not wait for those under way.', async () => {
    const table = await lockTable(direct, 'coffer_entries');
    const first = writeTo(direct, ...Array.from({ length: 4 }, (_, n) => freshRecord(listOf(n))));
    await table.waitedForBy(1);
    const second = writeTo(direct, freshRecord(listOf(4)), freshRecord(listOf(5)));
    await table.waitedForBy(2);
    await table.release();
    expect([...(await first), ...(await second)]).not.toContain(undefined);
  });

  it('wait for a list that somebody has locked, and hold up no other list meanwhile.', async () => {
    const transaction = await direct.database.begin();
    const { timestamp } = await direct.storage.writer(transaction).lock(listOf(1));
    const waiting = writeTo(direct, newRecord(listOf(1)), newRecord(listOf(1)));
    let isDone = false;
    void waiting.then(() => (isDone = true));
    const others = await writeTo(direct, newRecord(listOf(2)), newRecord(listOf(3)));
    const late = await writeTo(direct, newRecord(listOf(4)));
    expect([...others, ...late]).not.toContain(undefined);
    expect(isDone).toBe(false);
    await transaction.commit();
    for (const stamp of await waiting) expect(stamp).toBeGreaterThan(timestamp!);
  });

  it('are told to be done again when another one of the same transaction fails, and nothing is left of them.', async () => {
    const lists = [listOf(5), listOf(6)];
    const clocks = (): Promise<readonly unknown[]> =>
      Promise.all(lists.map((list) => stores.storage.reader.resourceTimestamp(list)));
    const before = await clocks();
    const good = newRecord(lists[0]!);
    // No service sends this on: it is refused with a 400.
    const bad = newRecord(lists[1]!, '{"n":"\\u0000"}');
    const results = await Promise.allSettled([good, bad].map((each) => stores.database.writeConditionally!(each)));
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      expect.any(TransactionConflict),
      expect.any(TransactionConflict),
    ]);
    expect(await clocks()).toEqual(before);
    expect(await write(good)).not.toContain(undefined);
  });
});
