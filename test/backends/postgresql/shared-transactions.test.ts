// Simultaneous units of work of one process that write to the same list: they wait in a queue, continue in one transaction
// and are committed together, without effect on their results.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { scanTargetOf } from '../../../src/backends/postgresql/list-scans.ts';
import type { Transaction } from '../../../src/contracts/database.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';
import type { StorageWriter } from '../../../src/contracts/storage.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri, type ObjectUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { pageQuery } from '../../../src/testing/contract/storage/storage-probe.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { cloneDatabase, openPostgres, type OpenPostgres } from '../../support/postgresql.ts';

const collections: ListKey = { kind: 'collection', parent: storedParent('/buckets/b') };
let url: string;
let drop: () => Promise<void>;
let stores: OpenPostgres;
let count = 0;

beforeAll(async () => {
  ({ url, drop } = await cloneDatabase());
  stores = openPostgres(systemClock, { url, size: 20, maxOverflow: 0 });
  await inShared(async (writer) => {
    await writer.create(collections, 'c', '{}');
  });
});
afterAll(async () => {
  await stores.database.close();
  await drop();
});

async function newList(): Promise<ListKey> {
  const list = { kind: 'record', parent: storedParent(`/buckets/b/collections/c/${count++}`) };
  await inShared((writer) => writer.create(list, 'first', '{}'));
  return list;
}

/** Runs a unit of work as the service does; returns the result of the work once it is committed. */
async function inShared<T>(work: (writer: StorageWriter, transaction: Transaction) => Promise<T>): Promise<T> {
  const transaction = await stores.database.begin({ mayShare: true });
  try {
    const result = await work(stores.storage.writer(transaction), transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}

/** Reads and locks the parent, and creates records, as the entries of a batch do. */
function createRecords(list: ListKey, names: readonly string[]): Promise<readonly number[]> {
  return inShared(async (writer) => {
    await writer.get(collections, 'c');
    const stamps: number[] = [];
    for (const name of names) {
      expect(await writer.lockShared(collections, 'c', list)).toBeDefined();
      stamps.push((await writer.create(list, name, '{"n":1}', undefined, { isFresh: true })).lastModified);
    }
    return stamps;
  });
}

async function idsOf(list: ListKey): Promise<ReadonlySet<string>> {
  const { entries } = await stores.storage.reader.listAll(list, pageQuery({}));
  return new Set(entries.map(({ id }) => id));
}

async function expectState(list: ListKey, names: readonly string[], stamps: readonly number[]): Promise<void> {
  const { reader } = stores.storage;
  expect(await idsOf(list)).toEqual(new Set(['first', ...names]));
  expect(await reader.countAll(list, { filters: [] })).toBe(names.length + 1);
  expect(new Set(stamps).size).toBe(stamps.length);
  if (stamps.length > 0) expect(await reader.resourceTimestamp(list)).toBe(Math.max(...stamps));
}

describe('units of work that write to one list', () => {
  it('all get timestamps of their own, in their order in the queue.', async () => {
    const list = await newList();
    const units = Array.from({ length: 30 }, (_, n) => [`a${n}`, `b${n}`, `c${n}`]);
    const stamps = await Promise.all(units.map((names) => createRecords(list, names)));
    await expectState(list, units.flat(), stamps.flat());
    const turns = stamps.toSorted(([a], [b]) => a! - b!);
    for (const [index, turn] of turns.entries()) {
      expect(turn).toEqual(turn.toSorted((a, b) => a - b));
      if (index > 0) expect(turn[0]).toBeGreaterThan(turns[index - 1]!.at(-1)!);
    }
  });

  it('become visible together when they share a transaction, and not before.', async () => {
    const list = await newList();
    const first = await stores.database.begin({ mayShare: true });
    await stores.storage.writer(first).create(list, 'x', '{}');
    const second = await stores.database.begin({ mayShare: true });
    const waiting = stores.storage.writer(second).create(list, 'y', '{}');
    const committing = first.commit();
    let isAnswered = false;
    void committing.then(() => (isAnswered = true));
    const { lastModified } = await waiting;
    // The second unit runs before the commit of the first, which is answered together with it.
    expect(await stores.storage.reader.get(list, 'x')).toBeUndefined();
    expect(isAnswered).toBe(false);
    await second.commit();
    await committing;
    const x = await stores.storage.reader.get(list, 'x');
    expect(x!.lastModified).toBeLessThan(lastModified);
    await expectState(list, ['x', 'y'], [x!.lastModified, lastModified]);
  });

  it('leave no trace when they are rolled back, and nothing of others is lost.', async () => {
    const list = await newList();
    const failing = async (name: string): Promise<void> => {
      const work = inShared(async (writer) => {
        await writer.create(list, name, '{}');
        await writer.update(list, 'first', `{"name":"${name}"}`);
        throw new Error(name);
      });
      await expect(work).rejects.toThrow(name);
    };
    const names = Array.from({ length: 20 }, (_, n) => `r${n}`);
    const stamps: number[] = [];
    const good = async (name: string): Promise<void> => void stamps.push(...(await createRecords(list, [name])));
    await Promise.all(names.flatMap((name) => [good(name), failing(`bad-${name}`), failing(`worse-${name}`)]));
    await expectState(list, names, stamps);
    expect((await stores.storage.reader.get(list, 'first'))?.text).toBe('{}');
  });

  it('see the changes of those before them in objects and permissions that one of them has read for all.', async () => {
    const list = await newList();
    const ids = Array.from({ length: 5 }, (_, n) => `o${n}`);
    const uriOf = (id: string): ObjectUri => storedUri(`${list.parent}/records/${id}`);
    await inShared(async (writer, transaction) => {
      const permission = stores.permission.writer(transaction);
      for (const id of ids) {
        await writer.create(list, id, '{"by":[]}');
        await permission.addToAces([{ objectId: uriOf(id), permissions: { read: [toPrincipal('acme:0')] } }]);
      }
    });
    const failed: string[] = [];
    /** Appends its name to all objects, and to their permissions; a few delete an object or fail. */
    const change = async (n: number): Promise<void> => {
      const name = `acme:u${n}`;
      const work = inShared(async (writer, transaction) => {
        const permission = stores.permission.writer(transaction);
        transaction.expect!({ list, ids, uris: ids.map(uriOf) });
        for (const [place, id] of ids.entries()) {
          const { object } = await writer.lock(list, id);
          const { read = [] } = await permission.getObjectPermissions(uriOf(id));
          const { by } = (object?.attributes ?? { by: [] }) as { readonly by: readonly string[] };
          // Both grow together, or start anew.
          expect(read.slice(object === undefined ? 0 : 1).toSorted()).toEqual(by.toSorted());
          if (place === n % 7) {
            await writer.delete(list, id);
            await permission.deleteObjectPermissions([uriOf(id)]);
          } else {
            await writer.update(list, id, JSON.stringify({ by: object === undefined ? [] : [...by, name] }));
            const principals = object === undefined ? [toPrincipal('acme:0')] : [...read, toPrincipal(name)];
            await permission.replaceObjectPermissions(uriOf(id), { read: principals });
          }
        }
        if (n % 11 === 10) throw new Error(name);
      });
      if (n % 11 === 10) {
        failed.push(name);
        await expect(work).rejects.toThrow(name);
      } else await work;
    };
    await Promise.all(Array.from({ length: 30 }, (_, n) => change(n)));
    expect(failed).toHaveLength(2);
    for (const id of ids) {
      const text = (await stores.storage.reader.get(list, id))?.text ?? '{}';
      for (const name of failed) expect(text).not.toContain(name);
    }
  });

  it('are rolled back when their own statement fails, and the others continue.', async () => {
    const list = await newList();
    const taken = async (): Promise<void> => {
      const work = inShared(async (writer) => {
        await writer.create(list, 'first', '{}', undefined, { isFresh: true });
        // Sends it, and waits for the result.
        await writer.listAll(list, pageQuery({}));
      });
      await expect(work).rejects.toBeInstanceOf(TransactionConflict);
    };
    const names = Array.from({ length: 6 }, (_, n) => `r${n}`);
    const good = names.map((name) => createRecords(list, [name]));
    const results = await Promise.all([...good.slice(0, 3), taken(), ...good.slice(3)]);
    await expectState(
      list,
      names,
      results.flatMap((stamps) => stamps ?? []),
    );
  });

  it('are all retried when the transaction fails, and leave no trace.', async () => {
    const list = await newList();
    const bad = inShared((writer) => writer.create(list, 'bad', '{"n":"\\u0000"}'));
    const units = ['a', 'b', 'c'].map((name) => createRecords(list, [name]));
    const results = await Promise.allSettled([bad, ...units]);
    const kept = ['a', 'b', 'c'].filter((_, n) => results[n + 1]!.status === 'fulfilled');
    const reasons = results
      .slice(1)
      .flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(results[0].status).toBe('rejected');
    for (const reason of reasons) expect(reason).toBeInstanceOf(TransactionConflict);
    const stamps = results.slice(1).flatMap((each) => (each.status === 'fulfilled' ? (each.value as number[]) : []));
    await expectState(list, kept, stamps);
  });

  it('share a transaction that deletes a record.', async () => {
    const list = await newList();
    const remove = inShared(async (writer) => {
      await writer.lock(list, 'first');
      await writer.delete(list, 'first');
    });
    const [, stamps] = await Promise.all([remove, createRecords(list, ['x'])]);
    expect(await idsOf(list)).toEqual(new Set(['x']));
    expect(await stores.storage.reader.resourceTimestamp(list)).toBe(stamps[0]);
    expect(await stores.storage.reader.countAll(list, { filters: [], includeDeleted: true })).toBe(2);
  });

  it('wait in the queue no longer than for a lock.', async () => {
    const list = await newList();
    const { database, storage } = openPostgres(systemClock, { url, size: 3, lockTimeoutSeconds: 0.3 });
    const holder = await database.begin({ mayShare: true });
    await storage.writer(holder).lock(list);
    const late = await database.begin({ mayShare: true });
    await expect(storage.writer(late).create(list, 'late', '{}')).rejects.toBeInstanceOf(BackendUnavailable);
    await late.rollback();
    await storage.writer(holder).create(list, 'x', '{}');
    await holder.commit();
    await database.close();
    await expectState(list, ['x'], []);
    expect(await createRecords(list, ['y'])).toHaveLength(1);
  });

  it('have the time of their queries each for themselves, and none joins a transaction with a long query.', async () => {
    const list = await newList();
    const { database, storage } = openPostgres(systemClock, { url, size: 3, lockTimeoutSeconds: 4 });
    /** Runs a statement of a given duration as a query of a client. */
    const query = (transaction: Transaction, seconds: number): Promise<unknown> =>
      database
        .within(transaction, 'storage')
        .run({ text: 'SELECT pg_sleep($1::float8)', scans: { ...scanTargetOf(list), isOfClient: true } }, [seconds]);
    const first = await database.begin({ mayShare: true });
    await storage.writer(first).create(list, 'x', '{}');
    const second = await database.begin({ mayShare: true });
    const waiting = storage.writer(second).create(list, 'y', '{}');
    await expect(query(first, 60)).rejects.toThrow('while others wait');
    // Resolves although the second unit is open.
    await first.commit();
    await waiting;
    await query(second, 0);
    const third = await database.begin({ mayShare: true });
    const joining = storage.writer(third).create(list, 'z', '{}');
    const committing = second.commit();
    await joining;
    expect(await storage.reader.get(list, 'y')).toBeUndefined();
    await query(third, 0);
    await third.commit();
    await committing;
    await database.close();
    expect(await idsOf(list)).toEqual(new Set(['first', 'x', 'y', 'z']));
  });
});

it('Simultaneous batches to one collection are each answered with all of their entries.', async () => {
  const service = await startTestService({ settings: postgresqlSettings(url) });
  try {
    const auth = { auth: 'alice' };
    const records = '/v1/buckets/shared/collections/c/records';
    await service.request('PUT', '/v1/buckets/shared', auth);
    await service.request('PUT', '/v1/buckets/shared/collections/c', auth);
    const batch = async (
      size: number,
      more: readonly object[] = [],
    ): Promise<{ status: number; statuses: number[] }> => {
      const create = { method: 'POST', path: records, body: { data: { a: 1 } } };
      const requests = [...Array.from({ length: size }, () => create), ...more];
      const { status, body } = await service.request('POST', '/v1/batch', { ...auth, body: { requests } });
      const { responses } = body as { responses: { status: number }[] };
      return { status, statuses: responses.map((each) => each.status) };
    };
    const refused = { method: 'PUT', path: `${records}/x`, body: { data: {} }, headers: { 'If-Match': '"1"' } };
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) => batch(5, n % 3 === 0 ? [refused, { method: 'GET', path: records }] : [])),
    );
    for (const [n, { status, statuses }] of answers.entries()) {
      expect(status).toBe(200);
      expect(statuses).toEqual([201, 201, 201, 201, 201, ...(n % 3 === 0 ? [412, 200] : [])]);
    }
    const { body } = await service.request('GET', records, auth);
    const stamps = (body as { data: { last_modified: number }[] }).data.map((each) => each.last_modified);
    expect([stamps.length, new Set(stamps).size]).toEqual([24 * 5, 24 * 5]);
  } finally {
    await service.close();
  }
});
