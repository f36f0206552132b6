// The cache of committed state always agrees with the database.
import fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Connection } from '../../../src/backends/sqlite/connection.ts';
import { Changes, ReadCache, TooMany } from '../../../src/backends/sqlite/read-cache.ts';
import { Snapshots } from '../../../src/backends/sqlite/snapshots.ts';
import { StoredObject, type ListKey } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { openConnection, openTestDatabase, temporaryPath, type TestDatabase } from './temporary.ts';
import { anyWrite, fill, ids, kindsOfWrites, lists, objectIds, observe, pages, type Write } from './writes.ts';

let count = 0;

/** Changes of the file: some writes in one unit of work, of this process or of another one, committed or rolled back. */
const anyEvent = fc.record({
  isOwn: fc.boolean(),
  isKept: fc.boolean(),
  writes: fc.array(anyWrite, { minLength: 1, maxLength: 3 }),
});

async function happen(database: TestDatabase, { isKept, writes }: { isKept: boolean; writes: Write[] }): Promise<void> {
  const work = database.unit(async (storage, permission) => {
    for (const write of writes) await write(storage, permission);
    if (!isKept) throw new Error('undone');
  });
  // Impossible writes, such as one with a timestamp that is taken, are rolled back too.
  await work.catch(() => undefined);
  // A commit of another process is visible from the next turn of the event loop on, cached or not.
  await nextTurn();
}

/** After any changes by either process, both return the same. */
async function expectSame(one: TestDatabase, other: TestDatabase): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { maxLength: 6 }), async (events) => {
      for (const event of events) {
        await happen(event.isOwn ? one : other, event);
        expect(await observe(one)).toEqual(await observe(other));
      }
    }),
    { numRuns: 100 },
  );
}

describe('the read cache', () => {
  it('agrees with the database after a write of any kind', async () => {
    const one = await openTestDatabase();
    const other = await openTestDatabase({ path: one.path, cacheBytes: 0 });
    for (const kind of kindsOfWrites) {
      for (const write of fc.sample(kind, 4)) {
        await fill(one);
        await observe(one);
        await happen(one, { isKept: true, writes: [write] });
        expect(await observe(one)).toEqual(await observe(other));
      }
    }
  });

  it('agrees with the database after any writes of any process, committed or rolled back', async () => {
    const one = await openTestDatabase();
    const other = await openTestDatabase({ path: one.path, cacheBytes: 0 });
    await expectSame(one, other);
  });

  it('agrees with the database when most entries and memberships are too many to cache', async () => {
    const one = await openTestDatabase({ maxPrincipals: 1 });
    const other = await openTestDatabase({ path: one.path, cacheBytes: 0 });
    await fill(one);
    await expectSame(one, other);
  });

  it('agrees with the database under eviction', async () => {
    const one = await openTestDatabase({ cacheBytes: 20_000 });
    const other = await openTestDatabase({ path: one.path, cacheBytes: 0 });
    await fc.assert(
      fc.asyncProperty(anyEvent, async (event) => {
        await happen(event.isOwn ? one : other, event);
        expect(await observe(one)).toEqual(await observe(other));
      }),
      { numRuns: 100 },
    );
  });

  it('agrees with the snapshot of the read, at any moment of a commit of this or another process', async () => {
    const path = await temporaryPath();
    const writer = openConnection(path);
    const other = openConnection(path);
    writer.exec(`CREATE TABLE items (id TEXT PRIMARY KEY, text TEXT) STRICT;
      INSERT INTO items VALUES ('x', '{}'), ('y', '{}')`);
    const step = fc.constantFrom('read', 'turn', 'own', 'commit', 'release', 'foreign', 'undo', 'checkpoint');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, fc.constantFrom(...ids)), { maxLength: 40 }), async (steps) => {
        const open = (): Connection => new Connection({ path, synchronous: 'OFF', readOnly: true });
        const snapshots = new Snapshots({ open, writer, cache: new ReadCache(100_000) });
        const write = (connection: Connection, i: string): number =>
          connection.run('UPDATE items SET text = ? WHERE id = ?', `{"n":${count++}}`, i);
        let changes = new Changes();
        let state: 'idle' | 'open' | 'held' = 'idle';
        for (const [name, i] of steps) {
          if (name === 'turn') await nextTurn();
          else if (name === 'own' && state !== 'held') {
            if (state === 'idle') writer.run('BEGIN IMMEDIATE');
            state = 'open';
            changes.ofObject(lists[0]!, i);
            write(writer, i);
          } else if (name === 'undo' && state === 'open') {
            writer.run('ROLLBACK');
            state = 'idle';
          } else if (name === 'commit' && state === 'open') {
            snapshots.hold();
            writer.run('COMMIT');
            state = 'held';
          } else if (name === 'release' && state === 'held') {
            snapshots.release(changes);
            changes = new Changes();
            state = 'idle';
          } else if (name === 'foreign' && state !== 'open') write(other, i);
          else if (name === 'checkpoint' && state !== 'open') other.all('PRAGMA wal_checkpoint(PASSIVE)');
          const isRight = snapshots.run('storage', (connection, cache) =>
            ids.every((each) => {
              const [text] = connection.get<[string]>('SELECT text FROM items WHERE id = ?', each)!;
              return cache.object(lists[0]!, each, () => new StoredObject(each, 1, text))?.text === text;
            }),
          );
          expect(isRight).toBe(true);
        }
        if (state === 'open') writer.run('ROLLBACK');
        await snapshots.close();
      }),
      { numRuns: 100 },
    );
  });

  it('has nothing that was read before a commit of another process, even at the moment of the check for such commits', async () => {
    const path = await temporaryPath();
    const writer = openConnection(path);
    const other = openConnection(path);
    writer.exec(`CREATE TABLE items (n INTEGER); INSERT INTO items VALUES (0)`);
    const write = (): number => other.run('UPDATE items SET n = n + 1');
    let isLate = false;
    const open = (): Connection => new Connection({ path, synchronous: 'OFF', readOnly: true });
    const snapshots = new Snapshots({
      open,
      cache: new ReadCache(100_000),
      writer: {
        get dataVersion() {
          if (isLate) write();
          return writer.dataVersion;
        },
      },
    });
    onTestFinished(() => snapshots.close());
    const read = (): number | undefined =>
      snapshots.run('storage', (connection, cache) => {
        const now = (): StoredObject =>
          new StoredObject('x', connection.get<[number]>('SELECT n FROM items')![0], '{}');
        return cache.object(lists[0]!, 'x', now)?.lastModified;
      });
    expect(read()).toBe(0);
    await nextTurn();
    write();
    isLate = true;
    // The second commit happens between the snapshot and the look at the version of the writer.
    expect(read()).toBe(2);
    isLate = false;
    await nextTurn();
    expect(read()).toBe(2);
  });

  it('is used without further queries, except for the check for changes', async () => {
    const database = await openTestDatabase();
    await database.unit(async (storage, permission) => {
      await storage.create(lists[0]!, 'x', '{}');
      await permission.addPrincipalToAce(objectIds[0]!, 'write', 'alice');
    });
    const read = async (): Promise<void> => {
      await database.storage.reader.get(lists[0]!, 'x');
      await database.storage.reader.listText(lists[0]!, pages[0]!);
      await database.storage.reader.resourceTimestamp(lists[0]!);
      await database.permission.reader.checkPermission(
        ['bob'],
        [{ objectId: objectIds[0]!, permission: 'write' }],
        'bob',
      );
      await database.permission.reader.getObjectPermissions(objectIds[2]!);
    };
    await read();
    await nextTurn();
    const [get, all] = [vi.spyOn(Connection.prototype, 'get'), vi.spyOn(Connection.prototype, 'all')];
    onTestFinished(() => {
      get.mockRestore();
      all.mockRestore();
    });
    await read();
    expect(get.mock.calls).toEqual([['PRAGMA data_version']]);
    expect(all).not.toHaveBeenCalled();
    await database.unit((storage) => storage.create(lists[0]!, 'y', '{}'));
    get.mockClear();
    await database.permission.reader.getObjectPermissions(objectIds[2]!);
    await database.storage.reader.get(lists[0]!, 'x');
    expect(get.mock.calls.filter(([sql]) => sql !== 'PRAGMA data_version')).toEqual([]);
  });
});

describe('entries and groups that are too many to cache', () => {
  const many = Array.from({ length: 250 }, (_, n) => `/buckets/b/groups/g${n}`);
  const bound = [{ objectId: '/buckets/b', permission: 'read' }];

  it('grant the same access as others', async () => {
    const { unit, permission } = await openTestDatabase();
    const { reader } = permission;
    await unit(async (_, writer) => {
      await writer.replaceObjectPermissions('/buckets/b', { read: many });
      await writer.addUserPrincipal('alice', many[240]!);
    });
    for (let round = 0; round < 2; round++) {
      expect(await reader.checkPermission(['zoe'], bound, 'alice')).toBe(true);
      expect(await reader.checkPermission([many[249]!], bound)).toBe(true);
      expect(await reader.checkPermission(['zoe'], bound, 'bob')).toBe(false);
      expect((await reader.getObjectPermissions('/buckets/b'))['read']).toHaveLength(many.length);
    }
    await unit(async (_, writer) => {
      await writer.replaceObjectPermissions('/buckets/b', { read: [many[249]!] });
      for (const group of many) await writer.addUserPrincipal('bob', group);
    });
    for (let round = 0; round < 2; round++) {
      expect(await reader.checkPermission(['zoe'], bound, 'bob')).toBe(true);
      expect(await reader.checkPermission(['zoe'], bound, 'alice')).toBe(false);
      expect((await reader.getUserPrincipals('bob')).size).toBe(many.length);
    }
  });

  it('grant access when both sides are long', async () => {
    const { unit, permission } = await openTestDatabase();
    await unit(async (_, writer) => {
      await writer.replaceObjectPermissions('/buckets/b', { read: many, write: ['zoe'] });
      for (let n = 249; n < 500; n++) await writer.addUserPrincipal('alice', `/buckets/b/groups/g${n}`);
      for (let n = 250; n < 500; n++) await writer.addUserPrincipal('bob', `/buckets/b/groups/g${n}`);
    });
    for (let round = 0; round < 2; round++) {
      expect(await permission.reader.checkPermission([], bound, 'alice')).toBe(true);
      expect(await permission.reader.checkPermission([], bound, 'bob')).toBe(false);
    }
    await unit((_, writer) => writer.removeUserPrincipal('alice', many[249]!));
    expect(await permission.reader.checkPermission([], bound, 'alice')).toBe(false);
  });

  it('are looked up once for each principal of the other side', async () => {
    const { unit, permission } = await openTestDatabase();
    const few = [{ objectId: '/buckets/few', permission: 'read' }];
    await unit(async (_, writer) => {
      await writer.replaceObjectPermissions('/buckets/b', { read: many });
      await writer.replaceObjectPermissions('/buckets/few', { read: ['/buckets/b/groups/other', many[0]!] });
      for (const group of many) await writer.addUserPrincipal('bob', group);
      await writer.addUserPrincipal('alice', many[3]!);
      await writer.addUserPrincipal('tom', '/buckets/b/groups/other');
    });
    const answers = (): Promise<readonly boolean[]> =>
      Promise.all([
        permission.reader.checkPermission(['zoe'], few, 'bob'),
        permission.reader.checkPermission(['zoe'], bound, 'alice'),
        permission.reader.checkPermission(['zoe'], bound, 'tom'),
        permission.reader.checkPermission([many[7]!], bound),
        permission.reader.checkPermission(['zoe', '/buckets/b/groups/other'], bound),
      ]);
    const expected = [true, true, false, true, false];
    expect(await answers()).toEqual(expected);
    const all = vi.spyOn(Connection.prototype, 'all');
    const get = vi.spyOn(Connection.prototype, 'get');
    onTestFinished(() => {
      all.mockRestore();
      get.mockRestore();
    });
    expect(await answers()).toEqual(expected);
    expect([...all.mock.calls, ...get.mock.calls].filter(([sql]) => sql !== 'PRAGMA data_version')).toEqual([]);
    // A new membership: only the rows of that user are read again.
    await unit((_, writer) => writer.removeUserPrincipal('bob', many[0]!));
    all.mockClear();
    expect(await answers()).toEqual([false, true, false, true, false]);
    expect(all.mock.calls.flatMap(([, ...parameters]) => parameters)).toContain('bob');
    expect(all.mock.calls.flatMap(([, ...parameters]) => parameters)).not.toContain('alice');
  });
});

describe('the cache', () => {
  const [first] = lists as [ListKey];
  const row = { list: 1, clock: 1, horizon: 0, live: 1, dead: 0 };

  it('keeps the most recent values within its size', () => {
    const cache = new ReadCache(100_000);
    const reads = new Map<string, number>();
    const ask = (n: number): void => {
      const key = `id${n}`;
      cache.object(first, key, () => {
        reads.set(key, (reads.get(key) ?? 0) + 1);
        return new StoredObject(key, n, JSON.stringify({ text: 'x'.repeat(500) }));
      });
    };
    for (let n = 0; n < 1000; n++) ask(n);
    for (let n = 999; n >= 0; n--) ask(n);
    const asked = [...reads.values()];
    expect(asked.filter((times) => times === 1).length).toBeGreaterThan(15);
    expect(asked.filter((times) => times === 1).length).toBeLessThan(100_000 / 500);
  });

  it('returns objects without parsed attributes, and keeps only their texts', () => {
    const cache = new ReadCache(100_000);
    const object = new StoredObject('x', 1, '{"a":1}');
    const [one, two] = [1, 2].map(() => cache.object(first, 'x', () => object));
    expect(two).toEqual(one);
    expect(one).toBe(object);
    expect(two).not.toBe(object);
  });

  it('drops a page when the row of its list was read again', () => {
    const cache = new ReadCache(100_000);
    const page = { timestamp: 1, horizon: 0, text: '', count: 0, last: undefined, more: false };
    cache.keepPage(first, 'all', { row, page });
    expect(cache.page(first, 'all', row)).toBe(page);
    expect(cache.page(first, 'all', { ...row })).toBeUndefined();
    expect(cache.page(first, 'other', row)).toBeUndefined();
  });

  it('distinguishes all lists and objects', () => {
    const cache = new ReadCache(100_000);
    const keys: readonly (readonly [ListKey, string])[] = [
      [{ kind: 'a', parent: storedParent('b') }, 'c'],
      [{ kind: 'ab', parent: '' }, 'c'],
      [{ kind: 'a', parent: storedParent('bc') }, ''],
      [{ kind: 'a', parent: '' }, 'bc'],
      [{ kind: '1 1 a', parent: storedParent('b') }, 'c'],
    ];
    for (const [n, [key, name]] of keys.entries()) {
      cache.object(key, name, () => new StoredObject(name, n, '{}'));
      cache.listRow(key, () => ({ ...row, list: n }));
    }
    const nothing = (): never => {
      throw new Error('forgotten');
    };
    expect(keys.map(([key, name]) => cache.object(key, name, nothing)?.lastModified)).toEqual([0, 1, 2, 3, 4]);
    expect(cache.listRow(keys[0]![0], nothing)?.list).toBe(0);
    expect(cache.listRow(keys[1]![0], nothing)?.list).toBe(1);
  });

  it('drops results about long entries when they were read again', () => {
    const cache = new ReadCache(1_000_000);
    const [before, after] = [new TooMany(), new TooMany()];
    const asked: (readonly string[])[] = [];
    const has = (whole: TooMany, part: string, texts: readonly string[]): boolean =>
      cache.hasAny(whole, part, texts, (unknown) => {
        asked.push(unknown);
        return unknown.filter((text) => text === 'in');
      });
    expect(has(before, '', ['out', 'in'])).toBe(true);
    expect(has(before, '', ['out', 'other'])).toBe(false);
    expect(has(before, 'other', ['in'])).toBe(true);
    expect(has(before, '', ['in', 'new'])).toBe(true);
    expect(has(after, '', ['in'])).toBe(true);
    expect(asked).toEqual([['out', 'in'], ['other'], ['in'], ['in']]);
  });

  it('with size 0 reads every time', () => {
    const cache = new ReadCache(0);
    let reads = 0;
    for (let n = 0; n < 3; n++) {
      cache.listRow(first, () => {
        reads++;
        return row;
      });
    }
    expect(reads).toBe(3);
  });

  it('is emptied when too many changes happen to note each', () => {
    const cache = new ReadCache(100_000);
    cache.object(first, 'x', () => new StoredObject('x', 1, '{}'));
    const changes = new Changes();
    for (let n = 0; n <= 10_000; n++) changes.ofEntries(storedUri(`/buckets/b${n}`));
    expect(changes.isEverything).toBe(true);
    cache.forget(changes);
    expect(cache.object(first, 'x', () => undefined)).toBeUndefined();
  });
});
