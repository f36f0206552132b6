import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createService } from '../../../src/app/service.ts';
import { CheckpointThread } from '../../../src/backends/sqlite/checkpoint-thread.ts';
import { openSqliteDatabase, type SqliteDatabase } from '../../../src/backends/sqlite/database.ts';
import { WalFile } from '../../../src/backends/sqlite/wal-file.ts';
import {
  applyNextMigration,
  databaseMigrations,
  isLong,
  readSchemaVersion,
  type Migration,
} from '../../../src/backends/sqlite/schema.ts';
import { createSqlitePermission } from '../../../src/backends/sqlite/permission.ts';
import { createSqliteStorage } from '../../../src/backends/sqlite/storage.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import { storedUserId } from '../../../src/core/permissions/principals.ts';
import { parseField } from '../../../src/core/query/fields.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { createTestClock } from '../../../src/testing/contract/contract-case.ts';
import { openConnection, openTestDatabase, records, temporaryPath } from './temporary.ts';

function openUnmigrated(path: string): SqliteDatabase {
  const database = openSqliteDatabase({ path, clock: createTestClock(), synchronous: 'OFF' });
  onTestFinished(() => database.close());
  return database;
}

describe('a database file', () => {
  it('is created with its folders', async () => {
    const path = join(dirname(await temporaryPath()), 'deep', 'er', 'coffer.sqlite3');
    const test = await openTestDatabase({ path });
    await test.unit((storage) => storage.create(records, 'a', '{}'));
    expect(await readdir(dirname(path))).toContain('coffer.sqlite3');
  });

  it('holds objects, tombstones, clocks and permissions when it is opened again', async () => {
    const first = await openTestDatabase();
    await first.unit(async (storage, permission) => {
      await storage.create(records, 'a', '{"n":1.0}');
      await storage.create(records, 'b', '{}');
      await storage.delete(records, 'b');
      await permission.addPrincipalToAce('/buckets/b', 'write', 'zoe');
      await permission.addUserPrincipal('zoe', '/buckets/b/groups/g');
    });
    const clock = await first.storage.reader.resourceTimestamp(records);
    await first.database.close();
    const second = await openTestDatabase({ path: first.path });
    expect((await second.storage.reader.get(records, 'a'))?.text).toBe('{"n":1.0}');
    expect(await second.storage.reader.countAll(records, { filters: [], includeDeleted: true })).toBe(2);
    expect(await second.storage.reader.resourceTimestamp(records)).toBe(clock);
    expect(await second.permission.reader.getUserPrincipals('zoe')).toEqual(new Set(['/buckets/b/groups/g']));
    expect(await second.permission.reader.getObjectPermissions('/buckets/b')).toEqual({ write: ['zoe'] });
  });

  it('contains the answered writes after its process was killed, and nothing of an open unit of work', async () => {
    const test = await openTestDatabase({ synchronous: 'FULL' });
    await test.unit((storage) => storage.create(records, 'answered', '{}'));
    const transaction = await test.database.begin();
    await test.storage.writer(transaction).create(records, 'open', '{}');
    const left = join(dirname(test.path), 'left.sqlite3');
    // The files after a kill. The index of the log is memory shared by processes, and lost.
    for (const suffix of ['', '-wal']) await copyFile(test.path + suffix, left + suffix);
    await transaction.rollback();
    const second = await openTestDatabase({ path: left });
    expect((await second.storage.reader.get(records, 'answered'))?.id).toBe('answered');
    expect(await second.storage.reader.get(records, 'open')).toBeUndefined();
    await second.unit((storage) => storage.create(records, 'open', '{}'));
  });

  it('contains everything without its log after it was closed', async () => {
    const test = await openTestDatabase();
    await test.unit((storage) => storage.create(records, 'a', '{}'));
    await test.database.close();
    const copy = join(dirname(test.path), 'copy.sqlite3');
    await copyFile(test.path, copy);
    const again = await openTestDatabase({ path: copy });
    expect((await again.storage.reader.get(records, 'a'))?.id).toBe('a');
  });

  it('is refused as unavailable when the file is not a database', async () => {
    const path = await temporaryPath();
    await writeFile(path, 'This is no database. '.repeat(1000));
    expect(() => openUnmigrated(path)).toThrow(BackendUnavailable);
    expect(() => openUnmigrated(path)).toThrow(/not a SQLite database/);
  });

  it('may be written by two processes, whose clocks agree', async () => {
    const one = await openTestDatabase();
    const other = await openTestDatabase({ path: one.path });
    const ids = Array.from({ length: 40 }, (_, index) => `id${index}`);
    await Promise.all(
      ids.map((id, index) => (index % 2 === 0 ? one : other).unit((storage) => storage.create(records, id, '{}'))),
    );
    const query = {
      filters: [],
      sort: [{ field: parseField('last_modified'), direction: 'ascending' as const }],
      limit: 100,
    };
    const { entries, timestamp } = await one.storage.reader.listAll(records, query);
    const { entries: seenByOther } = await other.storage.reader.listAll(records, query);
    expect(seenByOther).toEqual(entries);
    const first = one.clock.now();
    expect(entries.map(({ lastModified }) => lastModified)).toEqual(ids.map((_, index) => first + index));
    expect(timestamp).toBe(first + ids.length - 1);
  });

  it('shows commits of another process from the next turn of the event loop on', async () => {
    const one = await openTestDatabase();
    const other = await openTestDatabase({ path: one.path });
    expect(await one.storage.reader.get(records, 'a')).toBeUndefined();
    await other.unit((storage) => storage.create(records, 'a', '{}'));
    // On a busy machine the group may have used up its time, and is committed in the turn in which it began.
    await nextTurn();
    expect((await one.storage.reader.get(records, 'a'))?.id).toBe('a');
  });
});

describe('reads of committed state', () => {
  it('see commits of the same process, in the same turn of the event loop too', async () => {
    const test = await openTestDatabase();
    for (let n = 0; n < 20; n++) {
      await test.storage.reader.get(records, 'x');
      await test.unit((storage) => storage.update(records, 'x', `{"n":${n}}`));
      expect((await test.storage.reader.get(records, 'x'))?.text).toBe(`{"n":${n}}`);
    }
  });

  it('see nothing of a unit of work before its commit', async () => {
    const test = await openTestDatabase();
    await test.unit(async (storage) => {
      await storage.create(records, 'x', '{}');
      expect(await test.storage.reader.get(records, 'x')).toBeUndefined();
      expect(await test.storage.reader.resourceTimestamp(records)).toBeUndefined();
    });
  });

  it('do not prevent the move of the log into the file, which continues during writes', async () => {
    const test = await openTestDatabase({ checkpointFrames: 50 });
    const other = openConnection(test.path);
    const framesInLog = (): number => other.get<[number, number, number]>('PRAGMA wal_checkpoint(NOOP)')![1];
    const text = JSON.stringify({ s: 'x'.repeat(4000) });
    let longest = 0;
    let restarts = 0;
    for (let n = 0; n < 5000 && restarts < 3; n++) {
      const reading = test.storage.reader.get(records, 'x');
      await test.unit((storage) => storage.update(records, `id${n % 10}`, text));
      await reading;
      const frames = framesInLog();
      if (frames < longest) restarts++;
      longest = frames < longest ? 0 : frames;
    }
    expect(restarts).toBe(3);
  });
});

describe('a log to which one unit has added many pages', () => {
  it('is moved in parallel to the next units, so that they wait for few of its pages', async () => {
    const test = await openTestDatabase({ checkpointFrames: 50 });
    const other = openConnection(test.path);
    const left = (): number => {
      const [, frames, moved] = other.get<[number, number, number]>('PRAGMA wal_checkpoint(NOOP)')!;
      return frames - moved;
    };
    const text = JSON.stringify({ s: 'x'.repeat(8_000_000) });
    const write = (id: string, data: string): Promise<unknown> =>
      test.unit((storage) => storage.update(records, id, data));
    let moves = 0;
    const restarted = new Promise<number>((resolve) => {
      const { move } = CheckpointThread.prototype;
      vi.spyOn(CheckpointThread.prototype, 'move').mockImplementation(async function (this: CheckpointThread, mode) {
        if (mode === 'RESTART') resolve(left());
        const moved = await move.call(this, mode);
        // Comes after the last move before the restart.
        if (++moves === 2) await write('long', text);
        return moved;
      });
    });
    for (let n = 0; n < 100; n++) await write(`id${n}`, JSON.stringify({ s: 'x'.repeat(4000) }));
    expect(await restarted).toBeLessThanOrEqual(500);
    expect(moves).toBeGreaterThan(2);
  });
});

describe('a log that is flushed in a thread', () => {
  it('shows every read all writes that were answered before it', async () => {
    const test = await openTestDatabase({ synchronous: 'FULL', checkpointFrames: 50 });
    let written = 0;
    const write = async (n: number): Promise<void> => {
      await test.unit((storage) => storage.create(records, `id${n}`, '{}'));
      written++;
    };
    const read = async (): Promise<void> => {
      const before = written;
      expect(await test.storage.reader.countAll(records, { filters: [] })).toBeGreaterThanOrEqual(before);
    };
    await Promise.all(
      Array.from({ length: 20 }, async (_, client) => {
        for (let n = 0; n < 10; n++) await Promise.all([write(client * 10 + n), read()]);
      }),
    );
    expect(await test.storage.reader.countAll(records, { filters: [] })).toBe(200);
  });

  it('refuses the writer and all later calls after a failed flush, until the database is opened again', async () => {
    const test = await openTestDatabase({ synchronous: 'FULL' });
    await test.unit((storage) => storage.create(records, 'kept', '{}'));
    vi.spyOn(WalFile.prototype, 'flush').mockRejectedValue(new BackendUnavailable('storage', 'input/output error'));
    await expect(test.unit((storage) => storage.create(records, 'unknown', '{}'))).rejects.toThrow(BackendUnavailable);
    await expect(test.unit((storage) => storage.touch(records))).rejects.toThrow(BackendUnavailable);
    await expect(test.storage.reader.get(records, 'unknown')).rejects.toThrow(BackendUnavailable);
    await test.database.close();
    const again = await openTestDatabase({ path: test.path });
    expect((await again.storage.reader.get(records, 'kept'))?.id).toBe('kept');
  });
});

describe('the schema', () => {
  it('is created once, with a line for each step, and then unchanged', async () => {
    const database = openUnmigrated(await temporaryPath());
    const planned = await database.initializeSchema({ dryRun: true });
    expect(planned).toEqual([
      'create the tables of lists, objects, tombstones and permissions (SQLite schema version 1)',
      'keep the highest timestamp of a deletion without a tombstone (SQLite schema version 2)',
      'index long objects, so that walks over a list look at each of them by itself (SQLite schema version 3)',
      'count how often the store was flushed (SQLite schema version 4)',
      'add the keys of declared indexes (SQLite schema version 5)',
      'add the words of text indexes (SQLite schema version 6)',
      'let older releases of sqlite3 check and copy the file (SQLite schema version 7)',
    ]);
    expect(await database.initializeSchema({ dryRun: true })).toEqual(planned);
    expect(await database.initializeSchema({ dryRun: false })).toEqual(planned);
    expect(await database.initializeSchema({ dryRun: false })).toEqual([]);
    expect(await database.initializeSchema({ dryRun: true })).toEqual([]);
  });

  it('is created once by two processes that start together', async () => {
    const path = await temporaryPath();
    const databases = [openUnmigrated(path), openUnmigrated(path)];
    const done = await Promise.all(databases.map((database) => database.initializeSchema({ dryRun: false })));
    expect(done.flat()).toHaveLength(7);
  });

  it('has an index of long objects that walks use, and that releases of SQLite before 3.43 understand', async () => {
    const { path } = await openTestDatabase();
    const connection = openConnection(path);
    const schema = connection.all<[string]>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').flat().join('\n');
    expect(schema).toContain('objects_long');
    expect(schema).not.toContain('octet_length');
    const plan = connection.all(
      `EXPLAIN QUERY PLAN SELECT last_modified FROM objects e WHERE e.list = 1 AND ${isLong}`,
    );
    expect(JSON.stringify(plan)).toContain('objects_long');
  });

  it('of the first version is migrated with its contents, and no deletion counts as lost', async () => {
    const path = await temporaryPath();
    const connection = openConnection(path);
    connection.exec(databaseMigrations[0]!.sql);
    connection.exec(`PRAGMA user_version = 1;
      INSERT INTO lists (list, kind, parent, clock, live, dead) VALUES (7, 'record', '${records.parent}', 9, 1, 1);
      INSERT INTO objects (list, id, last_modified, plain, data) VALUES (7, 'a', 8, 1, '{"n":1}');
      INSERT INTO tombstones (list, id, last_modified) VALUES (7, 'b', 9);`);
    const { storage } = await openTestDatabase({ path });
    expect(await storage.reader.lists(undefined, 9)).toEqual([
      { ...records, timestamp: 9, horizon: 0, live: 1, dead: 1 },
    ]);
    expect((await storage.reader.get(records, 'a'))?.text).toBe('{"n":1}');
  });

  it('of the first version is not migrated by a readonly service', async () => {
    const path = await temporaryPath();
    const connection = openConnection(path);
    connection.exec(`${databaseMigrations[0]!.sql}; PRAGMA user_version = 1`);
    const place = {
      storage_backend: 'sqlite',
      permission_backend: 'sqlite',
      storage_url: path,
      permission_url: path,
      userid_hmac_secret: 'a secret that is long enough for tests',
    };
    const settings = settingsOf({ ...place, readonly: 'true' });
    await expect(createService({ settings, logger: silentLogger })).rejects.toThrow(/run `coffer migrate`/);
    expect(readSchemaVersion(connection)).toBe(1);
    await (await createService({ settings: settingsOf(place), logger: silentLogger })).close();
    await (await createService({ settings, logger: silentLogger })).close();
    expect(readSchemaVersion(connection)).toBe(databaseMigrations.length);
  });

  it('is not created in the file of another program, or under the log of one', async () => {
    const path = await temporaryPath();
    openConnection(path).exec('CREATE TABLE lists (a)');
    expect(() => openUnmigrated(path)).toThrow(
      /coffer\.sqlite3 belongs to another program, or the -wal .* a table lists/,
    );

    const test = await openTestDatabase();
    await test.unit((storage) => storage.create(records, 'a', '{}'));
    await test.database.close();
    const [other, restored] = [await temporaryPath(), await temporaryPath()];
    openConnection(other).exec("CREATE TABLE notes (a); INSERT INTO notes VALUES (printf('%1000000s', 'x'))");
    await copyFile(test.path, restored);
    await copyFile(`${other}-wal`, `${restored}-wal`);
    expect(() => openUnmigrated(restored)).toThrow(/-wal file next to it does: it has a table notes/);
  });

  it('that is missing is named in the error, with the command that creates it', async () => {
    const database = openUnmigrated(await temporaryPath());
    const storage = createSqliteStorage(database);
    const permission = createSqlitePermission(database);
    await expect(storage.reader.get(records, 'a')).rejects.toThrow(/coffer migrate/);
    await expect(permission.reader.getUserPrincipals(storedUserId('zoe'))).rejects.toMatchObject({
      backend: 'permission',
    });
    const transaction = await database.begin();
    await expect(storage.writer(transaction).create(records, 'a', '{}')).rejects.toThrow(BackendUnavailable);
    await transaction.rollback();
  });

  it('of a later version is refused', async () => {
    const path = await temporaryPath();
    openConnection(path).exec('PRAGMA user_version = 99');
    expect(() => openUnmigrated(path)).toThrow(/schema version 99.*knows 7 at most/);
  });

  it('of a later version is refused also when it appears after the opening', async () => {
    const test = await openTestDatabase();
    openConnection(test.path).exec('PRAGMA user_version = 99');
    await nextTurn();
    for (const dryRun of [true, false]) {
      await expect(test.database.initializeSchema({ dryRun })).rejects.toThrow(/schema version 99/);
    }
  });

  it('is migrated in steps, each of which is atomic, and continues after a failure', async () => {
    const connection = openConnection(await temporaryPath());
    const first = { summary: 'one', sql: 'CREATE TABLE one (a TEXT)' };
    const broken = { summary: 'two', sql: 'CREATE TABLE two (a TEXT); INSERT INTO none VALUES (1)' };
    const mended = { summary: 'two', sql: 'CREATE TABLE two (a TEXT); INSERT INTO two VALUES (1)' };
    const step = (migrations: readonly Migration[]): string | undefined => {
      connection.run('BEGIN IMMEDIATE');
      try {
        const line = applyNextMigration(connection, migrations);
        connection.run('COMMIT');
        return line;
      } catch (error) {
        connection.run('ROLLBACK');
        throw error;
      }
    };
    expect(step([first, broken])).toContain('one (SQLite schema version 1)');
    expect(() => step([first, broken])).toThrow(/none/);
    expect(readSchemaVersion(connection)).toBe(1);
    expect(connection.all(`SELECT name FROM sqlite_schema WHERE type = 'table'`)).toEqual([['one']]);
    expect(step([first, mended])).toContain('two (SQLite schema version 2)');
    expect(step([first, mended])).toBeUndefined();
    expect(readSchemaVersion(connection)).toBe(2);
  });

  it('survives a flush of both backends', async () => {
    const test = await openTestDatabase();
    await test.unit(async (storage, permission) => {
      await storage.create(records, 'a', '{}');
      await permission.addPrincipalToAce('/buckets/b', 'read', 'zoe');
      await storage.flush();
      await permission.flush();
    });
    expect(await test.database.initializeSchema({ dryRun: true })).toEqual([]);
    expect(await test.storage.reader.resourceTimestamp(records)).toBeUndefined();
    expect(await test.permission.reader.getObjectPermissions('/buckets/b')).toEqual({});
  });
});

describe('a new random id', () => {
  it('that is taken is a conflict, and the existing object stays', async () => {
    const test = await openTestDatabase();
    await test.unit((storage) => storage.create(records, 'one', '{"n":1}', undefined, { isFresh: true }));
    await expect(
      test.unit((storage) => storage.create(records, 'one', '{"n":2}', undefined, { isFresh: true })),
    ).rejects.toThrow(TransactionConflict);
    await expect(test.unit((storage) => storage.createAll(records, [{ id: 'one', text: '{}' }]))).rejects.toThrow(
      TransactionConflict,
    );
    expect((await test.storage.reader.get(records, 'one'))?.text).toBe('{"n":1}');
    expect(await test.storage.reader.countAll(records, { filters: [] })).toBe(1);
  });
});

describe('closing a database', () => {
  it('waits for open units of work', async () => {
    const test = await openTestDatabase();
    const transaction = await test.database.begin();
    const closing = test.database.close();
    await test.storage.writer(transaction).create(records, 'a', '{}');
    await transaction.commit();
    await closing;
    const again = await openTestDatabase({ path: test.path });
    expect((await again.storage.reader.get(records, 'a'))?.id).toBe('a');
  });

  it('waits for long reads', async () => {
    const test = await openTestDatabase();
    await test.unit(async (storage) => {
      for (let n = 0; n < 2500; n++) await storage.create(records, `id${n}`, `{"n":${n}}`);
    });
    const filters = [{ field: parseField('n'), operator: 'min' as const, value: 10 }];
    const reading = test.storage.reader.countAll(records, { filters });
    await test.database.close();
    expect(await reading).toBe(2490);
  });

  it('may happen twice, and refuses every later call', async () => {
    const test = await openTestDatabase();
    await Promise.all([test.database.close(), test.database.close()]);
    await expect(test.storage.reader.get(records, 'a')).rejects.toThrow(BackendUnavailable);
    await expect(test.database.begin()).rejects.toThrow(BackendUnavailable);
  });
});

describe('a transaction', () => {
  it('of another database is refused', async () => {
    const one = await openTestDatabase();
    const other = await openTestDatabase();
    const transaction = await one.database.begin();
    expect(() => other.storage.writer(transaction)).toThrow('the transaction belongs to another database');
    expect(() => other.permission.writer(transaction)).toThrow('the transaction belongs to another database');
    await transaction.rollback();
  });

  it('refuses writes after its end', async () => {
    const test = await openTestDatabase();
    const transaction = await test.database.begin();
    const writer = test.storage.writer(transaction);
    await transaction.commit();
    await expect(writer.create(records, 'a', '{}')).rejects.toThrow('the transaction has ended already');
  });

  it('refuses a timestamp after the last one, and its list can still be deleted', async () => {
    const test = await openTestDatabase();
    await test.unit((storage) => storage.create(records, 'a', '{}', Number.MAX_SAFE_INTEGER));
    const creating = test.unit((storage) => storage.create(records, 'b', '{}'));
    await expect(creating).rejects.toMatchObject({ name: 'IntegrityError' });
    await test.unit((storage) => storage.deleteChildren('/buckets/b'));
    expect(await test.storage.reader.countAll(records, { filters: [] })).toBe(0);
    expect(await test.storage.reader.resourceTimestamp(records)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
