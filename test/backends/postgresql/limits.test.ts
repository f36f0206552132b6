// Values that PostgreSQL cannot store or index directly: long texts, numbers beyond its decimals, null characters, and
// texts whose order depends on the language of the database.
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { UnstorableText } from '../../../src/contracts/errors.ts';
import { findJsonbText } from '../../../src/backends/postgresql/jsonb-text.ts';
import { keyOfText } from '../../../src/backends/postgresql/text-key.ts';
import { formatJson, parseJson, type JsonObject, type JsonValue } from '../../../src/base/json.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { formatAttributes, StoredObject } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { storedUserId, toPrincipal, toPrincipals } from '../../../src/core/permissions/principals.ts';
import { wordsOf } from '../../../src/core/text/words.ts';
import { QueryBudget } from '../../../src/core/query/budget.ts';
import type { Filter } from '../../../src/core/query/ast.ts';
import { compareValues } from '../../../src/core/query/compare.ts';
import { matches } from '../../../src/core/query/evaluate.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { likeParts } from '../../../src/core/query/like-parts.ts';
import { compare, marks, oneOf, pageQuery, sortKeys } from '../../../src/testing/contract/storage/storage-probe.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { json } from '../../core/query/arbitraries.ts';
import { inExtent } from '../../support/extent.ts';
import { migrateDatabase, runSql } from '../../support/postgresql-setup.ts';
import { createDatabase, openPostgres, type OpenPostgres } from '../../support/postgresql.ts';

const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };

function open(url: string): OpenPostgres {
  const backends = openPostgres(systemClock, { url });
  onTestFinished(() => backends.database.close());
  return backends;
}

/** A filter for texts that contain a text. */
function like(name: string, text: string): Filter {
  return { field: parseField(name), operator: 'like', parts: ['', text.toLowerCase(), ''] };
}

async function store({ database, storage }: OpenPostgres, values: readonly JsonValue[]): Promise<void> {
  await inUnit(database, async (transaction) => {
    const writer = storage.writer(transaction);
    await writer.flush();
    for (const [n, value] of values.entries()) await writer.create(list, `v${n}`, formatAttributes({ n: value }));
  });
}

describe('extreme values', () => {
  let url: string;
  beforeAll(async () => {
    url = await createDatabase();
    await migrateDatabase(url);
  });

  const numbers = [
    '1e-20000',
    '-1e-20000',
    '0e-20000',
    `0.${'0'.repeat(16_390)}1`,
    `0.${'123456789'.repeat(2000)}`,
    `1${'0'.repeat(300)}.5`,
    '1e-16383',
    '1.5e-16390',
  ];

  test.each(numbers.map((text) => [text.slice(0, 20), text]))('such as %s are returned unchanged', async (_, text) => {
    const backends = open(url);
    await store(backends, [(parseJson(`{"n":${text}}`) as JsonObject)['n']!]);
    expect((await backends.storage.reader.get(list, 'v0'))!.text).toBe(`{"n":${text}}`);
    const positive = await backends.storage.reader.countAll(list, { filters: [compare('n', 'gt', 0)] });
    expect(positive).toBe(text.startsWith('-') || text.startsWith('0e') ? 0 : 1);
    const filter = compare('n', 'eq', (parseJson(`[${text}]`) as readonly JsonValue[])[0]!);
    expect(await backends.storage.reader.countAll(list, { filters: [filter] })).toBe(1);
  });

  test('are distinguished from texts that look like them', () => {
    expect(findJsonbText('{"a":"1e-20000","b":1.5e-3}')).toBeUndefined();
    expect(findJsonbText('{"a":"\\"1e-20000","b":1e-20000}')).toBe('{"a":"\\"1e-20000","b":1e-16383}');
  });

  test('such as ids with null characters are refused', async () => {
    const { storage, permission } = open(url);
    const entry = { objectId: storedUri('/a\0'), permission: 'read' };
    await expect(storage.reader.get(list, 'a\0b')).rejects.toThrow(UnstorableText);
    await expect(permission.reader.checkPermission([toPrincipal('z\0')], [entry])).rejects.toThrow(UnstorableText);
    await expect(storage.reader.countAll(list, { filters: [], ids: ['a\0'] })).rejects.toThrow(UnstorableText);
  });

  test('such as long principals and members are stored whole and found again', async () => {
    const { database, permission } = open(url);
    const principals = ['short', 'x'.repeat(5000), `${'x'.repeat(4999)}y`, '\u{1f600}'.repeat(3000)];
    await inUnit(database, async (transaction) => {
      const writer = permission.writer(transaction);
      await writer.flush();
      await writer.replaceObjectPermissions(storedUri('/buckets/b'), { read: toPrincipals(principals) });
      for (const principal of principals)
        await writer.addUserPrincipal(toPrincipal(principal), toPrincipal('/buckets/b/groups/g'));
    });
    const { read } = await permission.reader.getObjectPermissions(storedUri('/buckets/b'));
    expect(read!.toSorted()).toEqual(principals.toSorted());
    for (const principal of principals) {
      expect(
        await permission.reader.checkPermission(
          [toPrincipal(principal)],
          [{ objectId: storedUri('/buckets/b'), permission: 'read' }],
        ),
      ).toBe(true);
      expect(await permission.reader.getUserPrincipals(storedUserId(principal))).toEqual(
        new Set(['/buckets/b/groups/g']),
      );
    }
    await inUnit(database, (transaction) =>
      permission
        .writer(transaction)
        .removePrincipalFromAce(storedUri('/buckets/b'), 'read', toPrincipal(principals[1]!)),
    );
    const left = await permission.reader.getObjectPermissions(storedUri('/buckets/b'));
    expect(left['read']?.toSorted()).toEqual(principals.filter((_, n) => n !== 1).toSorted());
    expect(keyOfText(principals[3]!).isWellFormed()).toBe(true);
  });

  test('such as objects as deep as a request may be are filtered and sorted', async () => {
    const backends = open(url);
    let deep: JsonValue = 'bottom';
    for (let n = 0; n < 98; n++) deep = { a: deep };
    await store(backends, [deep, 1]);
    const field = `n${'.a'.repeat(98)}`;
    const { reader } = backends.storage;
    expect(await reader.countAll(list, { filters: [compare(field, 'eq', 'bottom')] })).toBe(1);
    const page = await reader.listAll(list, pageQuery({ sort: sortKeys(`-${field}`) }));
    expect(marks(page.entries)).toEqual(['v1', 'v0']);
    const endless = `n${'.a'.repeat(4000)}`;
    expect(await reader.countAll(list, { filters: [compare(endless, 'not', 1)] })).toBe(2);
  });

  test('such as long texts are searched for long patterns as the query evaluator does, without being stopped', async () => {
    // Without the cache of small lists.
    const backends = openPostgres(systemClock, { url }, 0);
    onTestFinished(() => backends.database.close());
    const odd = String.raw`.\\w[^a]{2}(b|c)*+?$^#%_` + '\n漢🍏';
    const texts = ['a'.repeat(3_000_000), `${'a'.repeat(200)}b`, odd.repeat(9), `x${odd.repeat(9)}y`, 'short'];
    // A regular expression takes half a minute for a text that it follows to the end.
    const various = Array.from({ length: 40_000 }, (_, n) =>
      String.fromCodePoint(97 + ((n * n * 31 + (n >> 3)) % 26)),
    ).join('');
    await store(backends, [...texts, various]);
    const patterns = [
      ['', various, ''],
      ['', various.slice(1000, 20_000), various.slice(30_000), ''],
      ['', `${'a'.repeat(8000)}b`, ''],
      ['', `${'a'.repeat(150)}b`, ''],
      ['', 'a'.repeat(8000), 'a'.repeat(7000), ''],
      [odd.repeat(9)],
      ['', odd.repeat(5), odd.repeat(4), ''],
      ['', odd.repeat(5), odd.repeat(5), ''],
      ['x', odd.repeat(8), 'y'],
      [odd.repeat(8), ''],
      likeParts(`${'*'.repeat(3000)}${various.slice(1000, 1200)}${'*'.repeat(3000)}b`),
    ].map((parts) => parts.map((part) => part.toLowerCase()));
    const { reader } = backends.storage;
    const { entries: all } = await reader.listAll(list, pageQuery({}));
    for (const parts of patterns) {
      const filter: Filter = { field: parseField('n'), operator: 'like', parts };
      const { entries } = await reader.listAll(list, pageQuery({ filters: [filter] }));
      expect(marks(entries)).toEqual(marks(all.filter((entry) => matches(entry, [filter]))));
    }
  });

  test('such as thousands of values in one filter are compared', async () => {
    const backends = open(url);
    await store(backends, [1, 2, 3]);
    const many = Array.from({ length: 20_000 }, (_, n) => n + 2);
    expect(await backends.storage.reader.countAll(list, { filters: [oneOf('n', ...many)] })).toBe(2);
  });
});

describe.each([
  ['of no language', `TEMPLATE template0 LOCALE 'C'`],
  [
    'of a language with an order of its own, with digits compared as numbers',
    `TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'da-DK-u-kn' LOCALE 'C'`,
  ],
])('A database %s', (_, options) => {
  let url: string;
  beforeAll(async () => {
    url = await createDatabase(options);
    await migrateDatabase(url);
  });

  test('sorts all values as the query evaluator does.', { timeout: 60_000 }, async () => {
    const backends = open(url);
    const words = [
      'aa',
      'ab',
      'å',
      'z',
      'Z',
      'a',
      'A',
      '',
      '-',
      'a-b',
      'ab',
      '\u{1f600}',
      '\uffee',
      '10',
      '9',
      'ch',
      'cz',
    ];
    const value = fc.oneof(json, fc.constantFrom(...words), fc.array(fc.constantFrom(...words), { maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 2, maxLength: 10 }), async (values) => {
        await store(backends, values);
        const page = await backends.storage.reader.listAll(list, pageQuery({ sort: sortKeys('n,id') }));
        const sorted = [...values.entries()]
          .toSorted(([i, a], [j, b]) => compareValues(a, b) || i - j)
          .map(([n]) => `v${n}`);
        expect(marks(page.entries), formatJson(values)).toEqual(sorted);
      }),
      { numRuns: 60 },
    );
  });

  test('tests many conditions on one value as the query evaluator does.', { timeout: 60_000 }, async () => {
    // Without the cache of small lists.
    const backends = openPostgres(systemClock, { url }, 0);
    onTestFinished(() => backends.database.close());
    const value = fc.oneof(json, fc.constantFrom('aa', 'ab', 'å', 'Z', 'z'), fc.array(fc.constantFrom('aa', 'z', 1)));
    const operator = fc.constantFrom('eq', 'not', 'lt', 'max', 'gt', 'min');
    const comparison = fc.tuple(fc.constantFrom('n', 'n.a', 'm'), operator, value);
    const condition = fc.oneof(
      { weight: 4, arbitrary: comparison.map((given) => compare(...given)) },
      { weight: 1, arbitrary: fc.constantFrom('a', 'Z', '1').map((text) => like('n', text)) },
    );
    const branch = fc.array(condition, { minLength: 1, maxLength: 3 });
    const filter = fc.record({
      operator: fc.constantFrom('or', 'nor'),
      branches: fc.array(branch, { minLength: 5, maxLength: 8 }),
    });
    const found = { all: 0, some: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 2, maxLength: 10 }), filter, async (values, given) => {
        await store(backends, values);
        const filters = [given, given] as readonly Filter[];
        const { entries } = await backends.storage.reader.listAll(list, pageQuery({ filters, sort: sortKeys('id') }));
        const wanted = [...values.entries()]
          .filter(([n, each]) => matches(new StoredObject(`v${n}`, 1, formatAttributes({ n: each })), filters))
          .map(([n]) => `v${n}`);
        expect(marks(entries), formatJson(values)).toEqual(wanted);
        found.all++;
        if (wanted.length > 0 && wanted.length < values.length) found.some++;
      }),
      { numRuns: inExtent(100, 1000) },
    );
    expect(found.some).toBeGreaterThan(found.all / 10);
  });

  test('reads a long value once for many conditions, without being stopped.', async () => {
    const { database, storage } = openPostgres(systemClock, { url }, 0);
    onTestFinished(() => database.close());
    const backends = open(url);
    const texts = Array.from({ length: 40 }, (_each, n) => Array.from({ length: 20_000 }, (_one, k) => `${n} ${k}`));
    await store(backends, texts);
    const branches = Array.from({ length: 200 }, (_each, n) => [compare('n', 'lt', [`0${n}`])]);
    const counting = storage.reader.countAll(list, { filters: [{ operator: 'or', branches }] });
    await expect(counting).resolves.toBe(0);
  });

  test('sorts arrays with long texts, and values of many levels, without being stopped.', async () => {
    const backends = open(url);
    const long = 'k'.repeat(1_000_000);
    const deep = (last: JsonValue): JsonValue =>
      Array.from({ length: 90 }).reduce<JsonValue>((value, _each, n) => (n % 2 === 0 ? [value] : { a: value }), last);
    const levels = Array.from({ length: 2000 }, (_each, n) => deep(n % 2 === 0 ? 'z' : 'aa'));
    await store(backends, [[`${long}b`], [`${long}a`], { [long]: 1 }, ...levels]);
    const page = await backends.storage.reader.listAll(list, pageQuery({ sort: sortKeys('n,id'), limit: 2002 }));
    const odd = levels.flatMap((_each, n) => (n % 2 === 0 ? [] : [`v${n + 3}`])).toSorted();
    const even = levels.flatMap((_each, n) => (n % 2 === 0 ? [`v${n + 3}`] : [])).toSorted();
    expect(marks(page.entries)).toEqual(['v1', 'v0', ...odd, ...even]);
    const above = { filters: [compare('n', 'min', [`${long}b`])] };
    // All objects are above all arrays.
    expect(await backends.storage.reader.countAll(list, above)).toBe(2002);
  });
});

test('Any number of processes delete pending deletions in the background.', async () => {
  const url = await createDatabase();
  await migrateDatabase(url);
  const processes = [open(url), open(url), open(url)];
  const [{ database, storage, permission }] = processes as [OpenPostgres, ...OpenPostgres[]];
  await inUnit(database, async (transaction) => {
    const writer = storage.writer(transaction);
    for (let n = 0; n < 1500; n++) {
      await writer.create(list, `r${n}`, '{}');
      await permission
        .writer(transaction)
        .addPrincipalToAce(storedUri(`${list.parent}/records/r${n}`), 'write', toPrincipal('zoe'));
      if (n % 3 === 0) await writer.delete(list, `r${n}`);
    }
  });
  await inUnit(database, async (transaction) => {
    await storage.writer(transaction).deleteChildren(storedUri('/buckets/b'));
    await permission.writer(transaction).deletePermissionsBelow(storedUri('/buckets/b'));
  });
  expect(await storage.reader.countAll(list, { filters: [] })).toBe(0);
  expect((await permission.reader.getAccessibleObjects([toPrincipal('zoe')])).size).toBe(0);
  const countLeft = async (): Promise<number> => {
    await Promise.all(processes.map((each) => each.database.reapAll()));
    const left = await runSql(
      url,
      `SELECT (SELECT count(*) FROM coffer_objects) + (SELECT count(*) FROM coffer_tombstones)
        + (SELECT count(*) FROM coffer_entries) + (SELECT count(*) FROM coffer_doomed_lists)
        + (SELECT count(*) FROM coffer_doomed_folders)`,
    );
    return Number(left[0]![0]);
  };
  // A process that the deletion has woken may be deleting already. Others skip what it has locked.
  await expect.poll(countLeft, { timeout: 10_000 }).toBe(0);
});

describe('a statement that reads a list for too long', () => {
  test('is too much work for a query, and deletes nothing', async () => {
    const url = await createDatabase();
    await migrateDatabase(url);
    const holder = open(url);
    await store(holder, [1, 2]);
    // Without the cache of small lists.
    const { database, storage } = openPostgres(systemClock, { url, statementTimeoutSeconds: 1 }, 0);
    onTestFinished(() => database.close());
    const lock = await holder.database.begin();
    await holder.database.within(lock, 'storage').run({ text: 'LOCK TABLE coffer_objects' }, []);
    const filters = [compare('n', 'eq', 1)];
    const page = pageQuery({ filters });
    const tea = { words: wordsOf('tea'), prefixes: [] };
    const reads = [
      storage.reader.listAll(list, page),
      storage.reader.listText(list, page),
      storage.reader.countAll(list, { filters }),
      storage.reader.findWords(list, tea, 10),
      storage.reader.countWords(list, tea),
      inUnit(database, (transaction) => storage.writer(transaction).deleteAll(list, page)),
    ];
    const message = expect.stringMatching(/too much work: .*postgresql_statement_timeout_seconds.*declare an index/);
    for (const result of await Promise.allSettled(reads)) {
      const reason = expect.objectContaining({ key: 'invalidParameters', message });
      expect(result).toEqual({ status: 'rejected', reason });
    }
    await lock.rollback();
    expect(await storage.reader.countAll(list, { filters })).toBe(1);
  });

  test('has less time in a unit that others wait for, and leaves the timeout of other statements as it was', async () => {
    const url = await createDatabase();
    await migrateDatabase(url);
    const holder = open(url);
    await store(holder, [1, 2]);
    const { database, storage } = openPostgres(
      systemClock,
      { url, statementTimeoutSeconds: 60, lockTimeoutSeconds: 2 },
      0,
    );
    onTestFinished(() => database.close());
    const page = pageQuery({ filters: [compare('n', 'eq', 1)] });
    const query = { ...page, budget: new QueryBudget() };
    await inUnit(database, async (transaction) => {
      expect((await storage.writer(transaction).listAll(list, query)).entries).toHaveLength(1);
      const { rows } = await database.within(transaction, 'storage').run({ text: 'SHOW statement_timeout' }, []);
      expect(rows).toEqual([['1min']]);
    });
    const lock = await holder.database.begin();
    await holder.database.within(lock, 'storage').run({ text: 'LOCK TABLE coffer_objects' }, []);
    const message = expect.stringMatching(/too much work: .* while others wait \(postgresql_lock_timeout_seconds\)/);
    const reading = inUnit(database, (transaction) => storage.writer(transaction).deleteAll(list, query));
    await expect(reading).rejects.toEqual(expect.objectContaining({ key: 'invalidParameters', message }));
    const ofService = inUnit(database, (transaction) => storage.writer(transaction).listAll(list, page));
    await expect(ofService).rejects.toThrow('a lock was not granted in time');
    await lock.rollback();
  });
});
