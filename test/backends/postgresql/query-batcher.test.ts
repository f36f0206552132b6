// Reads of committed state as one process sends them: simultaneous ones together. Each gets the result that it would get
// alone, and none fails because of another.
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Access } from '../../../src/backends/postgresql/access.ts';
import { textArray } from '../../../src/backends/postgresql/array-text.ts';
import type { Row } from '../../../src/backends/postgresql/connection.ts';
import { batchableQuery } from '../../../src/backends/postgresql/batchable-query.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { runAtOnce } from '../../../src/base/steps.ts';
import { joinPage } from '../../../src/core/objects/page-text.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { storedUserId, toPrincipal } from '../../../src/core/permissions/principals.ts';
import type { PageQuery } from '../../../src/core/query/ast.ts';
import { idField, lastModifiedField } from '../../../src/core/query/fields.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { CountingProxy } from '../../support/counting-proxy.ts';
import { cloneDatabase, openPostgres, type OpenPostgres } from '../../support/postgresql.ts';
import { lockTable } from '../../support/table-lock.ts';

const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const newest: PageQuery = { filters: [], sort: [{ field: lastModifiedField, direction: 'descending' }], limit: 100 };
const byId: PageQuery = { ...newest, sort: [{ field: idField, direction: 'ascending' }] };
/** Identifies the statement of a query: two simultaneous ones may have begun in the same microsecond. */
const askWhich = batchableQuery(
  'ask-which',
  `SELECT pg_backend_pid() || ' ' || statement_timestamp() FROM (SELECT count(*) FROM coffer_memberships m WHERE m.user_key = $1::text) k`,
);
const readTwice = batchableQuery('read-twice', 'SELECT $1::text, 2 * $2::bigint');

let proxy: CountingProxy;
/** Through the proxy, which delivers responses together. */
let stores: OpenPostgres;
let direct: OpenPostgres;
let access: Access;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await cloneDatabase();
  ({ drop } = database);
  proxy = await CountingProxy.start(database.url);
  // One connection, so that none is opened during a count.
  stores = openPostgres(systemClock, { url: proxy.url, size: 1, maxOverflow: 0 });
  direct = openPostgres(systemClock, { url: database.url, size: 6, maxOverflow: 0 });
  access = direct.database.committed('storage');
});
afterAll(async () => {
  await stores.database.close();
  await direct.database.close();
  await proxy.close();
  await drop();
});

/** Writes objects to the list, each with a user who may read it. */
async function store(texts: ReadonlyMap<string, string>, readerOf = (id: string) => `acme:${id}`): Promise<void> {
  const { database, storage, permission } = direct;
  await inUnit(database, async (transaction) => {
    const [objects, entries] = [storage.writer(transaction), permission.writer(transaction)];
    await objects.flush();
    await entries.flush();
    for (const [id, text] of texts) {
      await objects.create(list, id, text);
      await entries.replaceObjectPermissions(storedUri(uriOf(id)), { read: [toPrincipal(readerOf(id))] });
    }
  });
}

const uriOf = (id: string): string => `${list.parent}/records/${id}`;

describe('simultaneous reads', () => {
  const ids = Array.from({ length: 40 }, (_, n) => `r${n}`);

  it('are one statement of each kind, and one round trip.', async () => {
    await store(new Map(ids.map((id) => [id, `{"id":"${id}"}`])));
    const { storage, permission } = stores;
    const read = (): Promise<unknown> =>
      Promise.all(
        ids.flatMap((id) => [
          storage.reader.get(list, id),
          permission.reader.getObjectPermissions(storedUri(uriOf(id))),
          permission.reader.checkPermission(
            [toPrincipal(`acme:${id}`)],
            [{ objectId: storedUri(uriOf(id)), permission: 'read' }],
            storedUserId('acme:me'),
          ),
        ]),
      );
    // Prepares the statements on the connection.
    await read();
    const { roundTrips, statements } = await proxy.costOf(read);
    expect([roundTrips, statements]).toEqual([1, 3]);
  });

  it('are sent once when they are equal.', async () => {
    const read = (): Promise<unknown> =>
      Promise.all([...ids, ...ids].map(() => stores.storage.reader.resourceTimestamp(list)));
    await read();
    const { roundTrips, statements } = await proxy.costOf(read);
    expect([roundTrips, statements]).toEqual([1, 1]);
  });

  it('get the results that they would get alone, with any ids and principals.', async () => {
    const odd = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
      fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ',', ' ', "'", '\n', '\u001E', '$1::', 'é', '😀') }),
      fc.constantFrom('NULL', '{}', '""', '-', '1:a', '__proto__'),
    );
    const name = odd.filter((id) => id !== '' && !id.includes('/') && !id.includes('\0') && id.isWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { minLength: 2, maxLength: 12 }), async (names) => {
        const stored = names.slice(1);
        await store(new Map(stored.map((id, n) => [id, `{"n":${n}}`])), (id) => id);
        const { storage, permission } = direct;
        const [objects, entries] = [storage.reader, permission.reader];
        const found = await Promise.all(names.map((id) => objects.get(list, id)));
        expect(found.map((object) => object?.text)).toEqual([undefined, ...stored.map((_, n) => `{"n":${n}}`)]);
        const permissions = await Promise.all(names.map((id) => entries.getObjectPermissions(storedUri(uriOf(id)))));
        expect(permissions).toEqual([{}, ...stored.map((id) => ({ read: [id] }))]);
        const pairs = names.flatMap((id) => names.map((principal) => [id, principal] as const));
        const checks = await Promise.all(
          pairs.map(([id, principal]) =>
            entries.checkPermission(
              [toPrincipal('x'), toPrincipal(principal)],
              [{ objectId: storedUri(uriOf(id)), permission: 'read' }],
            ),
          ),
        );
        const mayRead = (id: string, principal: string): boolean => ['x', principal].includes(id) && id !== names[0];
        expect(checks).toEqual(pairs.map(([id, principal]) => mayRead(id, principal)));
        const pages = await Promise.all([byId, newest].map((query) => objects.listAll(list, query)));
        for (const { entries: page } of pages) expect(page.map(({ id }) => id).toSorted()).toEqual(stored.toSorted());
        const texts = await Promise.all([byId, newest].map((query) => objects.listText(list, query)));
        expect(texts).toEqual(pages.map((page) => runAtOnce(joinPage(page))));
      }),
      { numRuns: 40, examples: [[['"', 'x']]] },
    );
  });

  it('get their pages, with as many entries as each requests, and none of a list without newer changes.', async () => {
    await store(new Map(ids.map((id) => [id, `{"id":"${id}"}`])));
    const { reader } = direct.storage;
    const whole = await reader.listAll(list, newest);
    const pages = await Promise.all(ids.map((_, n) => reader.listAll(list, { ...newest, limit: n + 1 })));
    expect(pages).toEqual(
      ids.map((_, n) => ({
        timestamp: whole.timestamp,
        horizon: 0,
        entries: whole.entries.slice(0, n + 1),
        more: n < ids.length - 1,
      })),
    );
    const texts = await Promise.all(ids.map((_, n) => reader.listText(list, { ...newest, limit: n + 1 })));
    expect(texts).toEqual(pages.map((page) => runAtOnce(joinPage(page))));
    const since = await Promise.all(
      whole.entries.map(({ lastModified }) =>
        reader.listAll(list, {
          ...newest,
          includeDeleted: true,
          filters: [{ field: lastModifiedField, operator: 'gt', value: lastModified }],
        }),
      ),
    );
    expect(since).toEqual(
      ids.map((_, n) => ({ timestamp: whole.timestamp, horizon: 0, entries: whole.entries.slice(0, n), more: false })),
    );
  });

  it('return long objects, alone and in pages.', async () => {
    const texts = new Map(
      [100, 9000, 70_000, 3_000_000].map((length) => [`l${length}`, `{"t":"${'x'.repeat(length)}"}`]),
    );
    await store(texts);
    const { reader } = direct.storage;
    const objects = await Promise.all(Array.from(texts.keys(), (id) => reader.get(list, id)));
    expect(objects.map((object) => object?.text.length)).toEqual(Array.from(texts.values(), (text) => text.length));
    const long = await reader.listAll(list, { ...newest, limit: 3 });
    expect(long.entries.map(({ id }) => id)).toEqual(['l3000000', 'l70000', 'l9000']);
    expect(long.more).toBe(true);
    expect(await reader.listText(list, { ...newest, limit: 3 })).toEqual(runAtOnce(joinPage(long)));
  });
});

describe('a query', () => {
  it('fails without others.', async () => {
    const divide = batchableQuery('divide', 'SELECT 10 / $1::int');
    const results = await Promise.allSettled([1, 0, 5, 10].map((by) => access.ask(divide, [by])));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value[0]?.[0] : 'failed'))).toEqual([
      '10',
      'failed',
      '2',
      '1',
    ]);
  });

  it('is answered while others are still under way.', async () => {
    const sleep = batchableQuery('sleep', 'SELECT pg_sleep($1::float8)::text');
    let isOver = false;
    const slow = access.ask(sleep, [1]).then(() => (isOver = true));
    // It is sent at the end of this turn of the event loop.
    await nextTurn();
    await nextTurn();
    const others = [await access.ask(sleep, [0.001]), await access.ask(sleep, [0.002]), await access.ask(sleep, [0])];
    expect([others.length, isOver]).toEqual([3, false]);
    await slow;
  });

  it('waits a short time for many others under way, and is sent with others.', async () => {
    const table = await lockTable(direct, 'coffer_memberships');
    const ask = (n: number): Promise<readonly Row[]> => access.ask(askWhich, [n]);
    const first = [0, 1, 2, 3, 4, 5, 6, 7].map(ask);
    await table.waitedForBy(1);
    const late: Promise<readonly Row[]>[] = [];
    for (const n of [8, 9, 10]) {
      late.push(ask(n));
      await table.letLeave();
    }
    await table.waitedForBy(1);
    vi.advanceTimersByTime(10);
    await table.waitedForBy(2);
    await table.release();
    const statements = (await Promise.all([...first, ...late])).map(([row]) => row?.[0]);
    expect(new Set(statements.slice(0, 8)).size).toBe(1);
    expect(new Set(statements.slice(8)).size).toBe(1);
    expect(new Set(statements).size).toBe(2);
  });

  it('is answered in any number, by one statement or several.', async () => {
    const numbers = Array.from({ length: 500 }, (_, n) => n);
    const rows = await Promise.all(numbers.map((n) => access.ask(readTwice, [`t${n}`, n])));
    expect(rows.map(([row]) => row?.slice(0, 2))).toEqual(numbers.map((n) => [`t${n}`, String(2 * n)]));
    const lots = await access.askAll(
      readTwice,
      numbers.map((n) => [`t${n}`, n]),
    );
    expect(lots.map(([row]) => row?.slice(0, 2))).toEqual(numbers.map((n) => [`t${n}`, String(2 * n)]));
  });

  it('sees everything that was committed before its call.', async () => {
    const { database, storage } = direct;
    await store(new Map([['x', '{"n":0}']]));
    // Others run the same query all the time, so one is always under way.
    let isOver = false;
    const others = Array.from({ length: 8 }, async () => {
      while (!isOver) await storage.reader.get(list, 'x');
    });
    for (let n = 1; n <= 60; n++) {
      await inUnit(database, (transaction) => storage.writer(transaction).update(list, 'x', `{"n":${n}}`));
      expect((await storage.reader.get(list, 'x'))?.text).toBe(`{"n":${n}}`);
    }
    isOver = true;
    await Promise.all(others);
  });
});

describe('a list of texts', () => {
  it('arrives in PostgreSQL unchanged.', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }).filter((each) => !each.includes('\0')),
      fc.string({ unit: fc.constantFrom('a', ':', '/', '.', '-', '_', ',', '{', '"', '\\', ' '), maxLength: 5 }),
      fc.constantFrom('NULL', 'null', '', '{}', '[1:2]={}'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (texts) => {
        const sql = 'SELECT item FROM unnest($1::text[]) WITH ORDINALITY AS a (item, place) ORDER BY place';
        const { rows } = await access.run({ text: sql }, [textArray(texts)]);
        expect(rows.map(([item]) => item)).toEqual(texts);
      }),
      { numRuns: 100 },
    );
  });
});
