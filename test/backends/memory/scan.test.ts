// Long reads of the memory backend: they run in steps, and other requests between the steps do not change their results.
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/base/json.ts';
import { pause } from '../../../src/base/steps.ts';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { keysOf, parseIndexes } from '../../../src/core/index/definition.ts';
import { isTombstone, StoredObject, type IndexKeys, type StoredEntry } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal, toPrincipals } from '../../../src/core/permissions/principals.ts';
import type { Filter, PageQuery, SortKey } from '../../../src/core/query/ast.ts';
import { matches } from '../../../src/core/query/evaluate.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { compareEntries, comparePositions, positionOf } from '../../../src/core/query/sort.ts';
import { wordsOf } from '../../../src/core/text/words.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { inRolledBackUnit, inUnit } from '../../../src/testing/contract/unit-of-work.ts';

const list = { kind: 'record', parent: storedParent('/buckets/a/collections/b') };
const count = 25_000;
const entries: readonly StoredEntry[] = Array.from({ length: count }, (_, n) => {
  const id = `e${(n * 7919) % count}`;
  if (n % 3 === 0) return { id, lastModified: n, deleted: true };
  return new StoredObject(id, n, JSON.stringify({ n: (n * 48271) % 1000 }));
});

const database = createMemoryDatabase({ clock: createTestClock(10 * count) });
const storage = createMemoryStorage(database);
const permission = createMemoryPermission(database);

beforeAll(() =>
  inUnit(database, (transaction) => storage.writer(transaction).restore(list, { clock: count, entries })),
);

/** A list of the same entries, with declared indexes. */
const indexed = { ...list, parent: storedParent('/buckets/a/collections/indexed') };
const indexes = parseIndexes([{ fields: ['n'] }, { text: ['t'] }])!;
const keysFor = (n: JsonValue): IndexKeys => keysOf(indexes, { n, t: 'word' });
beforeAll(() =>
  inUnit(database, (transaction) => {
    const keyed = entries.map((entry) => {
      if (isTombstone(entry)) return entry;
      return new StoredObject(entry.id, entry.lastModified, entry.text, undefined, keysFor(entry.attributes.n!));
    });
    return storage.writer(transaction).restore(indexed, { clock: count, entries: keyed });
  }),
);
const idsOf = (found: readonly StoredEntry[]): readonly string[] => found.map(({ id }) => id);

function sortBy(...names: readonly string[]): readonly SortKey[] {
  return names.map((name) => ({
    field: parseField(name.replace('-', '')),
    direction: name.startsWith('-') ? 'descending' : 'ascending',
  }));
}

function answerByTheBook({ filters, sort, after, limit, includeDeleted = false }: PageQuery): readonly StoredEntry[] {
  return entries
    .filter((entry) => (includeDeleted || !isTombstone(entry)) && matches(entry, filters))
    .filter((entry) => after === undefined || comparePositions(positionOf(entry, sort), after, sort) > 0)
    .toSorted(compareEntries(sort))
    .slice(0, limit);
}

const few: Filter = { field: parseField('n'), operator: 'eq', value: 7 };
const sorts = [['last_modified'], ['-last_modified'], ['id'], ['-id'], ['n', 'id'], ['-n', '-id']];

describe('long reads of the memory backend', () => {
  it.each(sorts)('find the same entries as the query evaluator, sorted by %s', async (...names) => {
    const sort = sortBy(...names);
    for (const includeDeleted of [false, true]) {
      for (const filters of [[], [few]]) {
        const query: PageQuery = { filters, sort, limit: 12, includeDeleted };
        const page = await storage.reader.listAll(list, query);
        expect(page.entries).toEqual(answerByTheBook(query));
        const next = { ...query, after: positionOf(page.entries.at(-1)!, sort) };
        expect((await storage.reader.listAll(list, next)).entries).toEqual(answerByTheBook(next));
      }
    }
  });

  it('find the entries of many ids', async () => {
    const ids = entries.map(({ id }) => id).filter((_, n) => n % 2 === 0);
    const query: PageQuery = { filters: [few], sort: sortBy('id'), limit: 10_000, ids };
    const expected = answerByTheBook(query).filter(({ id }) => ids.includes(id));
    expect((await storage.reader.listAll(list, query)).entries).toEqual(expected);
    expect(await storage.reader.countAll(list, { filters: [few], ids })).toBe(expected.length);
  });

  it('let other requests read and write between steps, and do not see these writes', async () => {
    const order: string[] = [];
    const query: PageQuery = { filters: [few], sort: sortBy('last_modified'), limit: count, includeDeleted: true };
    const long = storage.reader.listAll(list, query).then(({ entries: found }) => {
      order.push('long');
      return found;
    });
    const counting = storage.reader.countAll(list, { filters: [few] });
    const expected = answerByTheBook(query);
    const last = expected.at(-1)!;
    await inRolledBackUnit(database, async (transaction) => {
      await storage.writer(transaction).delete(list, last.id);
      await storage.writer(transaction).create(list, 'new', '{"n":7}');
      order.push('written');
    });
    await storage.reader.get(list, 'e1');
    order.push('short');
    expect(await long).toEqual(expected);
    expect(await counting).toBe(expected.length);
    expect(order).toEqual(['written', 'short', 'long']);
  });

  it.each([
    ['a page in the order of a declared index', 8000, []],
    ['candidates from a declared index', 8000, [{ field: parseField('other'), operator: 'has', present: false }]],
    ['a scan after too few candidates', 2500, [{ field: parseField('n'), operator: 'exclude', values: [5] }]],
  ] as readonly (readonly [string, number, readonly Filter[]])[])('do not see such writes in %s', async (...row) => {
    const [, limit, filters] = row;
    const query: PageQuery = { filters, sort: sortBy('n', '-last_modified'), limit, indexes };
    const expected = idsOf(answerByTheBook(query));
    const long = storage.reader.listAll(indexed, query);
    await inRolledBackUnit(database, async (transaction) => {
      const writer = storage.writer(transaction);
      await writer.delete(indexed, expected.at(-1)!);
      await writer.create(indexed, 'new', '{"n":999}', undefined, { keys: keysFor(999) });
      await writer.update(indexed, expected.at(-2)!, '{"n":0}', undefined, keysFor(0));
      await long;
    });
    expect(idsOf((await long).entries)).toEqual(expected);
  });

  it('do not see such writes in a search for words', async () => {
    const expected = idsOf(answerByTheBook({ filters: [], sort: sortBy('-last_modified'), limit: 8000 }));
    const searches = [
      { words: wordsOf('word'), prefixes: wordsOf('wo') },
      { words: [], prefixes: wordsOf('wo') },
    ];
    const finding = searches.map((search) => storage.reader.findWords(indexed, search, 8000));
    const counting = searches.map((search) => storage.reader.countWords(indexed, search));
    await inRolledBackUnit(database, async (transaction) => {
      const writer = storage.writer(transaction);
      await Promise.all(expected.slice(-3000).map((id) => writer.delete(indexed, id)));
      await Promise.all([...finding, ...counting]);
    });
    for (const { ids } of await Promise.all(finding)) expect(ids).toEqual(expected);
    const live = entries.filter((entry) => !isTombstone(entry)).length;
    expect(await Promise.all(counting)).toEqual([live, live]);
  });

  it('take effect in a unit of work before later calls', async () => {
    await inRolledBackUnit(database, async (transaction) => {
      const writer = storage.writer(transaction);
      const query: PageQuery = { filters: [few], sort: sortBy('-last_modified'), limit: count };
      const expected = answerByTheBook(query);
      const { id } = expected.at(-1)!;
      const [deleted, again, updated, left] = await Promise.all([
        writer.deleteAll(list, query),
        writer.deleteAll(list, { ...query, limit: 1 }),
        writer.update(list, id, '{"n":7}'),
        writer.countAll(list, { filters: [few] }),
      ]);
      expect(deleted.deletions.map(({ old }) => old)).toEqual(expected);
      expect(again.deletions).toEqual([]);
      expect(updated.lastModified).toBeGreaterThan(deleted.deletions.at(-1)!.tombstone.lastModified);
      expect(left).toBe(1);
    });
  });
});

describe('deletions of very many objects', () => {
  const all: PageQuery = { filters: [], sort: sortBy('-last_modified'), limit: count };
  const live = entries.filter((entry) => !isTombstone(entry)).length;

  it('let other requests read in between, which see all of the deletion or none', async () => {
    await inRolledBackUnit(database, async (transaction) => {
      let isDone = false;
      const deletion = storage
        .writer(transaction)
        .deleteAll(list, all)
        .finally(() => (isDone = true));
      let reads = 0;
      while (!isDone) {
        await pause('normal');
        // The last read begins when all is done and waits for the end of the unit.
        if (isDone) break;
        const [total, page] = await Promise.all([
          storage.reader.countAll(list, { filters: [] }),
          storage.reader.listAll(list, { ...all, limit: 1 }),
        ]);
        expect(total).toBe(live);
        expect(page.timestamp).toBe(count);
        reads++;
      }
      expect(reads).toBeGreaterThan(5);
      expect((await deletion).deletions).toHaveLength(live);
    });
  });

  it('leave no trace when they are rolled back, with any other changes of the unit', async () => {
    const everything: PageQuery = { ...all, includeDeleted: true };
    const before = await storage.reader.listAll(list, everything);
    const [{ id }] = before.entries as [StoredEntry];
    await inRolledBackUnit(database, async (transaction) => {
      const writer = storage.writer(transaction);
      await writer.create(list, 'created before', '{}');
      const { deletions } = await writer.deleteAll(list, all);
      expect(deletions).toHaveLength(live + 1);
      expect(await writer.get(list, deletions[0]!.old.id)).toBeUndefined();
      expect(await writer.countAll(list, { filters: [] })).toBe(0);
      expect(await writer.countAll(list, { filters: [], includeDeleted: true })).toBe(count + 1);
      await writer.update(list, id, '{"again":true}');
      await writer.purgeDeleted();
    });
    const after = await storage.reader.listAll(list, everything);
    expect(after).toEqual(before);
    for (const entry of before.entries.slice(0, 50)) {
      expect(await storage.reader.get(list, entry.id)).toEqual(isTombstone(entry) ? undefined : entry);
    }
  });

  it('delete the entries of the objects, and a rollback restores them', async () => {
    const uris = ['1', '2', '3'].map((id) => storedUri(`/buckets/z/collections/y/records/${id}`));
    const both = { read: toPrincipals(['alice', 'bob']), write: toPrincipals(['alice']) };
    await inUnit(database, async (transaction) => {
      const writer = permission.writer(transaction);
      for (const uri of uris.slice(0, 2)) await writer.replaceObjectPermissions(uri, both);
      await writer.replaceObjectPermissions(uris[2]!, { read: [toPrincipal('bob')] });
    });
    const accessible = async (who: string): Promise<readonly string[]> => [
      ...(await permission.reader.getAccessibleObjects([toPrincipal(who)])).keys(),
    ];
    await inRolledBackUnit(database, async (transaction) => {
      const writer = permission.writer(transaction);
      await writer.deleteObjectPermissions([...uris, uris[0]!, storedUri('/buckets/none')]);
      expect(await writer.getAccessibleObjects([toPrincipal('alice'), toPrincipal('bob')])).toEqual(new Map());
      await writer.addPrincipalToAce(uris[0]!, 'write', toPrincipal('tom'));
    });
    for (const uri of uris.slice(0, 2)) expect(await permission.reader.getObjectPermissions(uri)).toEqual(both);
    expect(await accessible('tom')).toEqual([]);
    expect((await accessible('bob')).toSorted()).toEqual(uris);
    await inUnit(database, (transaction) => permission.writer(transaction).deleteObjectPermissions(uris.slice(0, 2)));
    expect(await accessible('alice')).toEqual([]);
    expect(await accessible('bob')).toEqual([uris[2]]);
    await inUnit(database, (transaction) => permission.writer(transaction).deleteObjectPermissions(uris));
  });
});

describe('entries below an object', () => {
  const below = '/buckets/x/collections/y/records';
  const grant = (objectId: string): Promise<void> =>
    inUnit(database, (transaction) =>
      permission.writer(transaction).addPrincipalToAce(storedUri(objectId), 'read', toPrincipal('alice')),
    );
  const accessible = async (): Promise<readonly string[]> => [
    ...(await permission.reader.getAccessibleObjects([toPrincipal('alice')])).keys(),
  ];

  it('are deleted in one step, restored by a rollback, and make room for new ones', async () => {
    for (const id of ['1', '2']) await grant(`${below}/${id}`);
    await inRolledBackUnit(database, async (transaction) => {
      const writer = permission.writer(transaction);
      await writer.deletePermissionsBelow(storedUri('/buckets/x'));
      expect(await writer.getAccessibleObjects([toPrincipal('alice')])).toEqual(new Map());
      await writer.addPrincipalToAce(storedUri(`${below}/1`), 'write', toPrincipal('alice'));
      await writer.deletePermissionsBelow(storedUri('/buckets/x'));
    });
    expect(await permission.reader.getObjectPermissions(storedUri(`${below}/1`))).toEqual({ read: ['alice'] });
    expect(await accessible()).toEqual([`${below}/1`, `${below}/2`]);
    await inUnit(database, (transaction) =>
      permission.writer(transaction).deletePermissionsBelow(storedUri('/buckets/x')),
    );
    // While the rest is swept up.
    await grant(`${below}/3`);
    expect(await accessible()).toEqual([`${below}/3`]);
    await pause('normal');
    expect(await accessible()).toEqual([`${below}/3`]);
    expect(await permission.reader.getObjectPermissions(storedUri(`${below}/1`))).toEqual({});
  });
});
