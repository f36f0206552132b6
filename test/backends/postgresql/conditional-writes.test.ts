// Conditional writes as one process sends them: together when possible, and without waiting for the locked list of another
// write.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { ConditionalWrite } from '../../../src/contracts/database.ts';
import { TransactionConflict } from '../../../src/contracts/errors.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { CountingProxy } from '../../support/counting-proxy.ts';
import { cloneDatabase, openPostgres, type OpenPostgres } from '../../support/postgresql.ts';
import { lockTable } from '../../support/table-lock.ts';

/** Returns the transactions that wrote the entries with these timestamps. */
const lastTransactions = `SELECT DISTINCT o.xmin FROM coffer_objects o WHERE o.last_modified = ANY ($1::bigint[])
  AND o.parent IN ('/buckets/b/collections/c12', '/buckets/b/collections/c13')`;

let proxy: CountingProxy;
/** Through the proxy, which delivers responses together. */
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
  // Lists are created in a transaction of their own.
  await write(...Array.from({ length: 30 }, (_, n) => newRecord(listOf(n))));
});
afterAll(async () => {
  await stores.database.close();
  await direct.database.close();
  await proxy.close();
  await drop();
});

function listOf(number: number): ListKey {
  return { kind: 'record', parent: storedParent(`/buckets/b/collections/c${number}`) };
}

/** A record with a new random id. */
function freshRecord(list: ListKey): ConditionalWrite {
  return { ...newRecord(list), isFresh: true };
}

function newRecord(list: ListKey, text = '{"n":1}'): ConditionalWrite {
  const id = `r${count++}`;
  const uri = `${list.parent}/records/${id}`;
  return {
    list,
    id,
    holder: undefined,
    expected: undefined,
    text,
    uri: storedUri(uri),
    entries: { write: [toPrincipal('acme:zoe')] },
  };
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

describe('conditional writes on PostgreSQL', () => {
  it('share one transaction and one round trip with simultaneous ones to any lists.', async () => {
    const writes = Array.from({ length: 30 }, (_, n) => [newRecord(listOf(n)), newRecord(listOf(n))]).flat();
    // Prepares the statement on the connection.
    await write(newRecord(listOf(0)));
    const cost = await proxy.costOf(async () => {
      expect(await write(...writes)).not.toContain(undefined);
    });
    expect([cost.roundTrips, cost.statements]).toEqual([1, writes.length + 2]);
  });

  it('are one statement when they create objects with new random ids.', async () => {
    const writes = Array.from({ length: 30 }, (_, n) => [freshRecord(listOf(n)), freshRecord(listOf(n % 3))]).flat();
    await write(freshRecord(listOf(0)));
    const cost = await proxy.costOf(async () => {
      expect(await write(...writes)).not.toContain(undefined);
    });
    expect([cost.roundTrips, cost.statements]).toEqual([1, 1]);
  });

  it('with new random ids wait separately for lists that are locked or absent.', async () => {
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

  it('do not wait for the storing of a long text.', async () => {
    const long = newRecord(listOf(20), JSON.stringify({ text: 'long '.repeat(20_000) }));
    const writes = [newRecord(listOf(12)), long, newRecord(listOf(13)), newRecord(listOf(20))];
    expect(await writeTo(direct, ...writes)).not.toContain(undefined);
    const sql = 'SELECT id, xmin FROM coffer_objects WHERE id = ANY ($1::text[])';
    const { rows } = await direct.database.committed('storage').run({ text: sql }, [writes.map(({ id }) => id)]);
    const transactions = new Map(rows.map(([id, transaction]) => [id, transaction]));
    const [first, ofLong, second, ofSameList] = writes.map(({ id }) => transactions.get(id));
    expect(second).toBe(first);
    expect([ofLong, ofSameList]).not.toContain(first);
  });

  it('wait a short time for those under way when they are few, and are sent together.', async () => {
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

  it('do not wait for those under way when they are many.', async () => {
    const table = await lockTable(direct, 'coffer_entries');
    const first = writeTo(direct, ...Array.from({ length: 4 }, (_, n) => freshRecord(listOf(n))));
    await table.waitedForBy(1);
    const second = writeTo(direct, freshRecord(listOf(4)), freshRecord(listOf(5)));
    await table.waitedForBy(2);
    await table.release();
    expect([...(await first), ...(await second)]).not.toContain(undefined);
  });

  it('wait for a list that another transaction has locked, and delay no other list.', async () => {
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

  it('are all retried when another one of their transaction fails, and leave no trace.', async () => {
    const lists = [listOf(5), listOf(6)];
    const clocks = (): Promise<readonly unknown[]> =>
      Promise.all(lists.map((list) => stores.storage.reader.resourceTimestamp(list)));
    const before = await clocks();
    const good = newRecord(lists[0]!);
    // A service does not pass this on: it responds with 400.
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
