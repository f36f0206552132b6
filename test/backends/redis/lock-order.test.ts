// Two processes that write the same lists: a unit waits for lists in one order only, however long, and never against it. So
// units of several processes neither give up under load nor wait for each other.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import { compareLocks } from '../../../src/backends/redis/lock-order.ts';
import { createRedisPermission } from '../../../src/backends/redis/permission.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import type { RedisUnit } from '../../../src/backends/redis/unit.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Transaction } from '../../../src/contracts/database.ts';
import { TransactionConflict } from '../../../src/contracts/errors.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import type { StorageWriter } from '../../../src/contracts/storage.ts';
import { compareLists } from '../../../src/core/objects/list-order.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { listFolder, storedParent } from '../../../src/core/objects/uris.ts';
import { runInUnit } from '../../../src/engine/retry.ts';
import { openTestServer } from '../../support/redis.ts';

const records: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const laterRecords: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/d') };
const collections: ListKey = { kind: 'collection', parent: storedParent('/buckets/b') };
const history: ListKey = { kind: 'history', parent: listFolder('/buckets/b/history') };
const counterLock: ListKey = { kind: 'quota', parent: listFolder('/buckets/b/quota') };
const bucketCounter: ListKey = { kind: 'quota', parent: storedParent('/buckets/b') };
const collectionCounter: ListKey = { kind: 'quota', parent: storedParent('/buckets/b/collections/c') };
/** The lists that a change of a record locks, in the order in which it does so. */
const ofOneChange = [records, history, counterLock, bucketCounter, collectionCounter];

interface Unit {
  readonly transaction: Transaction;
  readonly storage: StorageWriter;
}

let server: Awaited<ReturnType<typeof openTestServer>>;
let processes: [RedisDatabase, RedisDatabase];
let runs = 0;
const begun: Transaction[] = [];

beforeAll(async () => {
  server = await openTestServer();
}, 120_000);
afterAll(() => server.close());

beforeEach(async () => {
  const prefix = `lock-order-${process.pid}-${(runs += 1)}:`;
  const options = { address: findRedisAddress(server.url)!, clock: systemClock, prefix };
  processes = [await openRedisDatabase(options), await openRedisDatabase(options)];
});
afterEach(async () => {
  vi.restoreAllMocks();
  // A database closes once its units have ended, also those of a failed test.
  for (const transaction of begun.splice(0)) await transaction.rollback();
  for (const database of processes) await database.close();
});

async function begin(database: RedisDatabase): Promise<Unit> {
  const transaction = await database.begin();
  begun.push(transaction);
  return { transaction, storage: createRedisStorage(database).writer(transaction) };
}

async function beginUnit(database: RedisDatabase): Promise<RedisUnit> {
  return database.requireUnit((await begin(database)).transaction);
}

/** Makes both processes take leases on the lists, as after a conflict. */
function contend(...lists: readonly ListKey[]): void {
  for (const { leases } of processes) for (const list of lists) leases.expectContention(list);
}

/** Returns the process that has the lease on a list, if any. */
async function leaseOn(list: ListKey): Promise<unknown> {
  const [{ client, keys }] = processes;
  return client.read('storage', 'GET', keys.lease(list)[0]);
}

/** Makes the lease on a list last until it is released, so that no test depends on time. */
async function keepLease(list: ListKey): Promise<void> {
  const [{ client, keys }] = processes;
  await client.call('storage', 'PERSIST', keys.lease(list)[0]);
}

it('waits for a later list for as long as another process has it', async () => {
  contend(records, history);
  const [other, own] = [await begin(processes[0]), await begin(processes[1])];
  await other.storage.lock(history);
  await own.storage.lock(records);
  const asked = vi.spyOn(processes[1].reads, 'lock');
  const locking = own.storage.create(history, 'entry', '{}');
  // Many more questions than fit into the time for which a unit waits against the order anywhere.
  await vi.waitUntil(() => asked.mock.calls.length > 50, { timeout: 20_000, interval: 5 });
  await other.transaction.commit();
  await locking;
  await own.transaction.commit();
});

it('asks for an earlier list once, and then names its lists for the retry', async () => {
  contend(records, history);
  const [other, own] = [await begin(processes[0]), await begin(processes[1])];
  await other.storage.lock(records);
  await own.storage.lock(history);
  const asked = vi.spyOn(processes[1].reads, 'lock');
  await expect(own.storage.lock(records)).rejects.toMatchObject({
    name: 'TransactionConflict',
    lists: [history, records],
  });
  expect(asked).toHaveBeenCalledTimes(1);
  await own.transaction.rollback();
  await other.transaction.rollback();
  // The refused unit has not reserved the list.
  const next = await begin(processes[0]);
  const askedNext = vi.spyOn(processes[0].reads, 'lock');
  await next.storage.lock(records);
  expect(askedNext).toHaveBeenCalledTimes(1);
  await next.transaction.rollback();
});

it('does not wait for an earlier list of a unit of its own process that other processes may stop', async () => {
  contend(history);
  const [other, own] = [await begin(processes[0]), await begin(processes[0])];
  await other.storage.lock(records);
  await own.storage.lock(history);
  await expect(own.storage.lock(records)).rejects.toMatchObject({ name: 'TransactionConflict' });
  await own.transaction.rollback();
  await other.transaction.rollback();
});

it('waits for an earlier list of a unit of its own process when no other process writes', async () => {
  const [other, own] = [await begin(processes[0]), await begin(processes[0])];
  await other.storage.lock(records);
  await own.storage.lock(history);
  const locking = own.storage.lock(records);
  await other.transaction.rollback();
  await locking;
  await own.transaction.rollback();
});

it('has no lease after a unit has ended while it waited for one', async () => {
  contend(records);
  const [other, own] = [await begin(processes[0]), await begin(processes[1])];
  await other.storage.lock(records);
  const asked = vi.spyOn(processes[1].reads, 'lock');
  const locking = own.storage.lock(records).catch((error: unknown) => error);
  await vi.waitUntil(() => asked.mock.calls.length > 1, { timeout: 20_000, interval: 1 });
  await own.transaction.rollback();
  await other.transaction.rollback();
  expect(await locking).toBeInstanceOf(Error);
  await keepLease(records);
  await vi.waitUntil(async () => (await leaseOn(records)) === null, { timeout: 20_000, interval: 5 });
});

it('a claim that is granted to a unit after its end keeps no other unit from the object', async () => {
  const [database] = processes;
  const [remover, other, batch] = [await beginUnit(database), await beginUnit(database), await beginUnit(database)];
  await remover.outlive(collections, 'c');
  await other.overlay(records);
  database.leases.expectContention(laterRecords);
  await batch.overlay(laterRecords);
  // The list is refused at once, and the claim waits for the deletion.
  await expect(batch.lockShared(collections, 'c', records)).rejects.toThrow(TransactionConflict);
  for (const unit of [batch, other, remover]) await unit.rollback();
  const next = await beginUnit(database);
  await expect(next.outlive(collections, 'c')).resolves.toBeUndefined();
});

it('a unit for which a deletion of its process waits does not wait for another process', async () => {
  const [here, there] = processes;
  contend(records);
  await (await beginUnit(there)).overlay(records);
  await keepLease(records);
  const [writer, remover] = [await beginUnit(here), await beginUnit(here)];
  await writer.lockShared(collections, 'c', undefined);
  const asked = vi.spyOn(here.reads, 'lock');
  const waiting = writer.overlay(records).catch((error: unknown) => error);
  const removing = remover.outlive(collections, 'c');
  expect(await waiting).toBeInstanceOf(TransactionConflict);
  // Otherwise it asks some thousand times before it gives up.
  expect(asked.mock.calls.length).toBeLessThan(20);
  await writer.rollback();
  await expect(removing).resolves.toBeUndefined();
});

it('retries lock lists in the order of the first attempts', () => {
  expect(ofOneChange.toReversed().toSorted(compareLocks)).toEqual([
    records,
    history,
    counterLock,
    bucketCounter,
    collectionCounter,
  ]);
  expect(ofOneChange.toSorted(compareLists)[0]).toEqual(bucketCounter);
});

it('writers of one bucket in two processes hardly repeat their work', { timeout: 60_000 }, async () => {
  let attempts = 0;
  const change = (database: RedisDatabase, id: string): Promise<void> => {
    const stores = { storage: createRedisStorage(database), permission: createRedisPermission(database) };
    return runInUnit(stores, silentLogger, async (unit) => {
      attempts++;
      const { storage } = await unit.writer();
      for (const list of ofOneChange) await storage.update(list, id, '{}');
    });
  };
  // The processes do not know of each other yet.
  const writers = Array.from({ length: 12 }, async (_, writer) => {
    for (let n = 0; n < 10; n++) await change(processes[writer % 2]!, `w${writer}`);
  });
  await Promise.all(writers);
  expect(attempts).toBeLessThan(2 * 120);
});

describe('a lease that units of one process wait for', () => {
  /** Returns who gets a list next: a unit of the process that has it, or one of another process, which waits for longer. */
  async function nextAfter(ms: number): Promise<string> {
    contend(records);
    const [first, second, other] = [await begin(processes[0]), await begin(processes[0]), await begin(processes[1])];
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    await first.storage.lock(records);
    await first.storage.create(records, 'a', '{}');
    const asked = vi.spyOn(processes[1].reads, 'lock');
    const order: string[] = [];
    const take = async (name: string, { storage, transaction }: Unit): Promise<void> => {
      await storage.lock(records);
      order.push(name);
      await transaction.rollback();
    };
    const waiting = [take('other process', other), take('same process', second)];
    await vi.waitUntil(() => asked.mock.calls.length > 1, { timeout: 20_000, interval: 1 });
    now += ms;
    await first.transaction.commit();
    await Promise.all(waiting);
    return order[0]!;
  }

  it('is passed on among them', async () => {
    expect(await nextAfter(0)).toBe('same process');
  });

  it('goes to another process after a while', async () => {
    expect(await nextAfter(1000)).toBe('other process');
  });
});
