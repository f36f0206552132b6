// Claims on objects, which units of one process take before they write below the objects or delete them.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import type { RedisUnit } from '../../../src/backends/redis/unit.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { TransactionConflict } from '../../../src/contracts/errors.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { openTestServer } from '../../support/redis.ts';

const collections: ListKey = { kind: 'collection', parent: storedParent('/buckets/b') };
const recordsOf = (id: string): ListKey => ({ kind: 'record', parent: storedParent(`/buckets/b/collections/${id}`) });

let server: Awaited<ReturnType<typeof openTestServer>>;
let processes: [RedisDatabase, RedisDatabase];
let runs = 0;
const begun: RedisUnit[] = [];

beforeAll(async () => {
  server = await openTestServer();
}, 120_000);
afterAll(() => server.close());

beforeEach(async () => {
  const prefix = `claims-${process.pid}-${(runs += 1)}:`;
  const options = { address: findRedisAddress(server.url)!, clock: systemClock, prefix };
  processes = [await openRedisDatabase(options), await openRedisDatabase(options)];
});
afterEach(async () => {
  for (const unit of begun.splice(0)) await unit.rollback();
  for (const database of processes) await database.close();
});

async function begin(database: RedisDatabase): Promise<RedisUnit> {
  const unit = database.requireUnit(await database.begin());
  begun.push(unit);
  return unit;
}

it('a claim that is granted to a unit after its end keeps no other unit from the object', async () => {
  const [database] = processes;
  const [remover, other, batch] = [await begin(database), await begin(database), await begin(database)];
  await remover.outlive(collections, 'a');
  await other.overlay(recordsOf('a'));
  database.leases.expectContention(recordsOf('b'));
  await batch.overlay(recordsOf('b'));
  // The list is refused at once, and the claim waits for the deletion.
  await expect(batch.lockShared(collections, 'a', recordsOf('a'))).rejects.toThrow(TransactionConflict);
  for (const unit of [batch, other, remover]) await unit.rollback();
  const next = await begin(database);
  await expect(next.outlive(collections, 'a')).resolves.toBeUndefined();
});

it('a unit for which a deletion of its process waits does not wait for another process', async () => {
  const [here, there] = processes;
  for (const database of processes) database.leases.expectContention(recordsOf('c'));
  await (await begin(there)).overlay(recordsOf('c'));
  const [writer, remover] = [await begin(here), await begin(here)];
  await writer.lockShared(collections, 'c', undefined);
  const waiting = writer.overlay(recordsOf('c')).catch((error: unknown) => error);
  const removing = remover.outlive(collections, 'c');
  expect(await waiting).toBeInstanceOf(TransactionConflict);
  await writer.rollback();
  await expect(removing).resolves.toBeUndefined();
});
