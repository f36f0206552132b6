// Plans of PostgreSQL: with any statistics, it finds objects by their ids and pages by their timestamps, without reading
// the rest of a list.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findAccessible } from '../../../src/backends/postgresql/accessible-objects.ts';
import type { Access } from '../../../src/backends/postgresql/access.ts';
import { compileCount, compilePage } from '../../../src/backends/postgresql/page.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Transaction } from '../../../src/contracts/database.ts';
import type { StorageWriter } from '../../../src/contracts/storage.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { storedUserId, toPrincipal } from '../../../src/core/permissions/principals.ts';
import { parseIndexes } from '../../../src/core/index/definition.ts';
import type { Filter, PageQuery } from '../../../src/core/query/ast.ts';
import { idField, lastModifiedField, parseField } from '../../../src/core/query/fields.ts';
import { planPage, planSelection } from '../../../src/core/query/plan-page.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { runSql } from '../../support/postgresql-setup.ts';

// Names of statements belong to the process and are limited. These tests start anew.
vi.resetModules();
const { StoredObject } = await import('../../../src/core/objects/stored.ts');
const { cloneDatabase, openPostgres } = await import('../../support/postgresql.ts');

const long: ListKey = { kind: 'record', parent: storedParent('/buckets/long/collections/c') };
const entries = Array.from({ length: 3000 }, (_, n) =>
  n % 2 === 0 ? new StoredObject(`e${n}`, n, '{}') : ({ id: `e${n}`, lastModified: n, deleted: true } as const),
);
const newest: PageQuery = { filters: [], sort: [{ field: lastModifiedField, direction: 'descending' }], limit: 10 };

const idOrder: PageQuery['sort'] = [{ field: idField, direction: 'ascending' }];
const indexes = parseIndexes([{ fields: ['n'] }])!;
const byNumber = { field: parseField('n'), direction: 'ascending' } as const;
const inIndexOrder: PageQuery['sort'] = [byNumber, ...newest.sort];
const againstTies: PageQuery['sort'] = [byNumber, { field: lastModifiedField, direction: 'ascending' }];
const since = (value: number): Filter => ({ field: lastModifiedField, operator: 'gt', value });

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Returns the plans of all statements that everyday requests prepare on a connection, for any values. */
async function plansOf(sql: string): Promise<ReadonlyMap<string, readonly Plan[]>> {
  const { url, drop } = await cloneDatabase();
  const { database, storage, permission } = openPostgres(systemClock, { url, size: 1, maxOverflow: 0 });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const write = async (work: (writer: StorageWriter, transaction: Transaction) => Promise<unknown>): Promise<void> => {
    await inUnit(database, (transaction) => work(storage.writer(transaction), transaction));
  };
  await write((writer) => writer.restore(long, { clock: 5000, entries }));
  await runSql(url, sql);
  await write(async (writer) => {
    // Before the list is locked, so that the object is read by itself.
    await writer.get(long, 'e8');
    // Changes are held back until the unit reads.
    for (const change of [
      () => writer.create(long, 'new', '{}'),
      () => writer.update(long, 'new', '{"n":1}'),
      () => writer.delete(long, 'new'),
      () => writer.create(long, 'new', '{}'),
    ]) {
      await change();
      await writer.resourceTimestamp(long);
    }
    await writer.update(long, 'e2', '{}', 4000);
    await writer.lockShared(long, 'e4');
    await writer.deleteAll(long, { ...newest, limit: 2 });
    await writer.trimObjects(long, { filters: [] }, 1400);
    await writer.restore(long, { clock: 5000, entries: [new StoredObject('x', 7, '{}')], gone: ['e6'] });
    await writer.purgeDeleted({ limit: 1 });
    await writer.listAll(long, { ...newest, includeDeleted: true });
    await writer.listAll(long, { ...newest, after: [2000], includeDeleted: true });
    await writer.listAll(long, { ...newest, after: [2000] });
    await writer.listAll(long, { ...newest, sort: inIndexOrder, indexes });
    await writer.listAll(long, { ...newest, sort: againstTies, indexes });
  });
  // A batch of changes, whose objects are read and written together.
  const updated = ['e2980', 'e2981', 'e2982', 'e2983', 'y1', 'y2'];
  const deleted = ['e2984', 'e2986'];
  await write(async (writer, transaction) => {
    transaction.expect!({ list: long, ids: [...updated, ...deleted], uris: [] });
    for (const id of updated) await writer.update(long, id, '{}');
    for (const id of deleted) await writer.delete(long, id);
  });
  // Several requests at once, over the same connection.
  const objectId = storedUri(`${long.parent}/records/e`);
  const bound = [{ objectId, permission: 'read' }];
  await Promise.all(
    [1, 2].flatMap((n) => [
      storage.reader.get(long, `e${n}`),
      storage.reader.listAll(long, { ...newest, limit: n }),
      storage.reader.listAll(long, { ...newest, limit: n, includeDeleted: true, filters: [since(n)] }),
      // Pages that must be sorted are separate statements, and not prepared.
      storage.reader.listAll(long, { ...newest, sort: idOrder, filters: [since(n)] }),
      storage.reader.listAll(long, { ...newest, sort: inIndexOrder, limit: n, indexes }),
      storage.reader.listAll(long, { ...newest, sort: againstTies, limit: n, indexes }),
      permission.reader.checkPermission([toPrincipal(`acme:${n}`)], bound),
      permission.reader.checkPermission([toPrincipal(`acme:${n}`)], bound, storedUserId(`acme:${n}`)),
      permission.reader.getObjectPermissions(storedUri(`${objectId}${n}`)),
    ]),
  );
  return inUnit(database, (transaction) =>
    explainAll(database.committed('storage'), database.within(transaction, 'storage')),
  );
}

/** Returns the plans, on one connection, of statements that any connection has prepared. */
async function explainAll(committed: Access, access: Access): Promise<ReadonlyMap<string, readonly Plan[]>> {
  const ask = { text: 'SELECT name, statement, cardinality(parameter_types) FROM pg_prepared_statements' };
  // Two connections, one of which is that of the unit.
  const known = [await access.run(ask, []), await committed.run(ask, [])].flatMap(({ rows }) => rows);
  await access.run({ text: 'SET LOCAL plan_cache_mode = force_generic_plan' }, []);
  const plans = new Map<string, readonly Plan[]>();
  for (const [fullName, statement, count] of known) {
    // Without the hash of the text, except for pages, which have many texts.
    const name = fullName!.replace(/(?<!page(?:-together)?)-[\w-]{16}$/, '');
    if (plans.has(name)) continue;
    await access.run({ text: `PREPARE "explained ${name}" AS ${statement}` }, []);
    const nulls = Array.from({ length: Number(count) }, () => 'NULL').join();
    const text = `EXPLAIN (FORMAT JSON) EXECUTE "explained ${name}"${nulls === '' ? '' : `(${nulls})`}`;
    const [row] = (await access.run({ text }, [])).rows;
    const [{ Plan: plan }] = JSON.parse(row![0]!) as [{ readonly Plan: Plan }];
    plans.set(name, nodesOf(plan));
  }
  return plans;
}

const manyLists = `
  INSERT INTO coffer_lists (parent, kind, list, clock, live, dead)
    SELECT '/buckets/b' || n, 'record', 1000 + n, 9, 1, 1 FROM generate_series(1, 5000) AS n;
  INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
    SELECT '/buckets/b' || n, 1000 + n, 'a', 1, '{}', '{}' FROM generate_series(1, 5000) AS n;
  INSERT INTO coffer_tombstones (parent, list, id, last_modified)
    SELECT '/buckets/b' || n, 1000 + n, 'b', 2 FROM generate_series(1, 5000) AS n;
  ANALYZE coffer_lists, coffer_objects, coffer_tombstones;
`;

describe.each([
  ['without statistics', ''],
  ['when most lists are short and one is long', manyLists],
])('plans %s', (_, sql) => {
  test('find objects by their ids, and pages by time without sorting', { timeout: 60_000 }, async () => {
    const plans = await plansOf(sql);
    const pages = [...plans.keys()].filter((name) => name.startsWith('page'));
    expect(pages).toHaveLength(6);
    const byId = [
      'read-object',
      'read-object-together',
      'read-entry',
      'insert-object',
      'update-object',
      'delete-object',
      'delete-tombstone',
      'insert-tombstone',
      'read-list-entries',
      'insert-objects',
      'update-objects',
      'delete-objects',
      'delete-tombstones',
      'insert-tombstones',
      'replace-by-tombstones',
    ];
    for (const name of byId) {
      const nodes = plans.get(name) ?? [];
      expect(nodes.length, name).toBeGreaterThan(0);
      expect(nodes.map((node) => node['Index Name']).join(), name).not.toMatch(/_by_time/);
    }
    for (const [name, nodes] of plans) {
      for (const { 'Index Name': index = '', 'Index Cond': condition = '' } of nodes) {
        // A condition on the list alone reads all of it.
        if (/^coffer_(objects|tombstones)_pkey$/.test(index)) expect(condition, name).toMatch(/\bid\b/);
        if (index.startsWith('coffer_entries')) expect(condition, name).toMatch(/\bname\b/);
      }
    }
    // A condition without list or folder reads those of all lists or folders of the parent.
    const byKey = ['read-object-together', 'read-few-entries-together', 'check-entries-together'];
    for (const name of [...byKey, 'check-entries-of-member-together']) {
      const conditions = (plans.get(name) ?? []).flatMap(({ 'Index Name': index = '', 'Index Cond': condition }) =>
        /^coffer_(objects|entries)/.test(index) ? condition : [],
      );
      expect(conditions.length, name).toBeGreaterThan(0);
      for (const condition of conditions) expect(condition, name).toMatch(/\b(?:list|folder) = /);
    }
    // Pages in the order of an index. The second one has objects with equal keys in the opposite order.
    const ordered = [...plans].filter(([name]) => name.startsWith('ordered-page'));
    const sorts = ordered.map(([name, nodes]) => {
      expect(nodes.map((node) => node['Index Name']).join(), name).toMatch(/_by_key/);
      expect(nodes.map((node) => node['Index Name']).join(), name).not.toMatch(/objects_(pkey|by_time)/);
      return nodes.filter((node) => node['Node Type'] === 'Sort').length;
    });
    expect(sorts.filter((count) => count === 0)).toHaveLength(2);
    expect(sorts.filter((count) => count > 0 && count <= 3)).toHaveLength(2);
    for (const name of [...pages, 'purge-oldest', 'find-holders', 'find-in-the-way']) {
      const nodes = plans.get(name) ?? [];
      expect(nodes.map((node) => node['Index Name']).join(), name).toMatch(/_by_time/);
      expect(nodes.filter((node) => node['Node Type'] === 'Sort').length, name).toBeLessThan(3);
    }
  });
});

test('Few shared objects are found without a look at those that are shared with others.', async () => {
  const { url, drop } = await cloneDatabase();
  const { database, permission } = openPostgres(systemClock, { url });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const shared = Array.from({ length: 5000 }, (_, n) => ({
    objectId: storedUri(`${long.parent}/records/r${n}`),
    permissions: { read: [toPrincipal('system.Authenticated')], write: [toPrincipal('acme:owner')] },
  }));
  await inUnit(database, (transaction) => permission.writer(transaction).addToAces(shared, { isFresh: true }));
  await runSql(url, 'VACUUM ANALYZE coffer_entries, coffer_folders');
  const plans: string[] = [];
  await inUnit(database, async (transaction) => {
    const access = database.within(transaction, 'permission');
    const explaining = {
      ...access,
      run: async ({ text }: { readonly text: string }, values: Parameters<Access['run']>[1]) => {
        const { rows } = await access.run({ text: `EXPLAIN ${text}` }, values);
        plans.push(rows.join('\n'));
        return { rows: [], count: 0, command: 'SELECT' };
      },
    };
    const principals = ['acme:guest', 'system.Everyone'].map(toPrincipal);
    for (const name of ['*', 'r1']) {
      const bound = ['read', 'write'].map((entry) => ({
        pattern: `${long.parent}/records/${name}`,
        permission: entry,
      }));
      await findAccessible(explaining, principals, bound, { withChildren: false });
    }
  });
  expect(plans).toHaveLength(2);
  for (const plan of plans) {
    expect(plan).toContain('coffer_entries_by_principal');
    expect(plan).not.toMatch(/coffer_entries_pkey|Seq Scan on coffer_entries/);
  }
});

test('Several processes of the server share a scan of a whole list.', async () => {
  const { url, drop } = await cloneDatabase();
  const { database, storage } = openPostgres(systemClock, { url });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  await inUnit(database, (transaction) => storage.writer(transaction).restore(long, { clock: 5000, entries }));
  await runSql(url, 'ANALYZE coffer_objects');
  const title = { name: 'title', path: ['title'] };
  const filters: readonly Filter[] = [{ field: title, operator: 'not', value: 'x' }];
  const page: PageQuery = { filters, sort: [{ field: title, direction: 'ascending' }, ...newest.sort], limit: 10 };
  await inUnit(database, async (transaction) => {
    const access = database.within(transaction, 'storage');
    const dialect = await access.dialect();
    // As with a list of a million.
    const costs = ['min_parallel_table_scan_size', 'parallel_setup_cost', 'parallel_tuple_cost'];
    for (const name of costs) await access.run({ text: `SET LOCAL ${name} = 0` }, []);
    for (const { text, values } of [
      compilePage(dialect, long, planPage(page), 'text'),
      compilePage(dialect, long, planPage(page), 'rows'),
      compileCount(dialect, long, planSelection({ filters })),
    ]) {
      const { rows } = await access.run({ text: `EXPLAIN ${text}` }, values);
      expect(rows.join('\n')).toContain('Workers Planned');
    }
  });
});

const oneList = `
  INSERT INTO coffer_lists (parent, kind, list, clock, live, dead) VALUES ('/buckets/b', 'record', 1000, 9, 9000, 9000);
  INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
    SELECT '/buckets/b', 1000, 'a' || n, n, '{}', '{}' FROM generate_series(1, 9000) AS n;
  INSERT INTO coffer_tombstones (parent, list, id, last_modified)
    SELECT '/buckets/b', 1000, 'b' || n, 9000 + n FROM generate_series(1, 9000) AS n;
  ANALYZE coffer_lists, coffer_objects, coffer_tombstones;
`;

describe('in a list that is newer than the statistics', () => {
  const ids = entries.slice(0, 60).flatMap((entry) => (entry instanceof StoredObject ? entry.id : []));
  const keyed = ids.map((id, n) => ({ id, lastModified: 2 * n, keys: [] }));

  test.each<[name: string, work: (writer: StorageWriter) => Promise<unknown>]>([
    [
      'deletions of a batch',
      async (writer) => {
        for (const id of ids) await writer.delete(long, id);
      },
    ],
    ['deletions of a page', (writer) => writer.deleteAll(long, { ...newest, limit: 30 })],
    ['keys of an index', (writer) => writer.setKeys(long, keyed)],
    [
      'a page of ids',
      (writer) => writer.listAll(long, { ...newest, filters: [{ field: idField, operator: 'in', values: ids }] }),
    ],
    ['deletions of tombstones', (writer) => writer.purgeDeleted({ limit: 5 })],
  ])('%s read no other objects', async (_, work) => {
    const { url, drop } = await cloneDatabase();
    const { database, storage } = openPostgres(systemClock, { url, size: 1, maxOverflow: 0 });
    onTestFinished(async () => {
      await database.close();
      await drop();
    });
    await runSql(url, oneList);
    await inUnit(database, (transaction) => storage.writer(transaction).restore(long, { clock: 5000, entries }));
    const read = await inUnit(database, async (transaction) => {
      transaction.expect!({ list: long, ids, uris: [] });
      const writer = storage.writer(transaction);
      await work(writer);
      const text = `SELECT sum(coalesce(seq_tup_read, 0) + idx_tup_fetch) FROM pg_stat_xact_user_tables
        WHERE relname IN ('coffer_objects', 'coffer_tombstones')`;
      // Sends the changes that are held back.
      await writer.resourceTimestamp(long);
      return Number((await database.within(transaction, 'storage').run({ text }, [])).rows[0]![0]);
    });
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(500);
  });
});
