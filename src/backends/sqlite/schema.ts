// The tables of a database file, as numbered migrations. The header of the file (`user_version`) has the number of the last
// one. It is written in the same transaction as the changes.
import type { Connection } from './connection.ts';

export interface Migration {
  /** Description for the operator. */
  readonly summary: string;
  readonly sql: string;
}

/**
 * Whether an object is so long that a scan pauses after it; SQL, equal to the condition of the index. Releases of SQLite before
 * 3.43 have no `octet_length`, and a file with a function that they lack cannot be checked, copied or recovered with them.
 */
export const isLong = 'length(CAST(data AS BLOB)) > 262144';

/** Storage and permission. New migrations are added at the end. Released ones never change. */
export const databaseMigrations: readonly Migration[] = [
  {
    summary: 'create the tables of lists, objects, tombstones and permissions',
    sql: `
      -- A list outlives its contents. When it is emptied with its parent, it gets a new number, and the rows under the old
      -- one are pending deletion. AUTOINCREMENT, because a number must not be reused while its rows exist.
      CREATE TABLE lists (
        list INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        parent TEXT NOT NULL,
        -- The highest timestamp ever given.
        clock INTEGER NOT NULL,
        -- Numbers of objects and tombstones.
        live INTEGER NOT NULL,
        dead INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX lists_by_key ON lists (kind, parent);
      CREATE INDEX lists_by_parent ON lists (parent);

      CREATE TABLE objects (
        object INTEGER PRIMARY KEY,
        list INTEGER NOT NULL,
        id TEXT NOT NULL,
        last_modified INTEGER NOT NULL,
        -- Whether SQLite reads all numbers in data as the service does.
        plain INTEGER NOT NULL,
        data TEXT NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX objects_by_id ON objects (list, id);
      CREATE UNIQUE INDEX objects_by_time ON objects (list, last_modified);

      CREATE TABLE tombstones (
        list INTEGER NOT NULL,
        id TEXT NOT NULL,
        last_modified INTEGER NOT NULL,
        PRIMARY KEY (list, id)
      ) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX tombstones_by_time ON tombstones (list, last_modified);

      -- The groups of users.
      CREATE TABLE user_principals (
        user_id TEXT NOT NULL,
        principal TEXT NOT NULL,
        PRIMARY KEY (user_id, principal)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX user_principals_by_principal ON user_principals (principal, user_id);

      -- An object id is the uri of a folder, which ends in a slash or is empty, and a name in it. When a folder is deleted
      -- with its parent, its entries are pending deletion. Its number must not be reused.
      CREATE TABLE folders (
        folder INTEGER PRIMARY KEY AUTOINCREMENT,
        uri TEXT NOT NULL UNIQUE
      ) STRICT;
      CREATE TABLE entries (
        folder INTEGER NOT NULL,
        name TEXT NOT NULL,
        permission TEXT NOT NULL,
        principal TEXT NOT NULL,
        PRIMARY KEY (folder, name, permission, principal)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX entries_by_principal ON entries (principal, folder, permission, name);

      -- Lists and folders that are pending deletion.
      CREATE TABLE doomed_lists (list INTEGER PRIMARY KEY) STRICT;
      CREATE TABLE doomed_folders (folder INTEGER PRIMARY KEY) STRICT;
    `,
  },
  {
    summary: 'keep the highest timestamp of a deletion without a tombstone',
    sql: 'ALTER TABLE lists ADD COLUMN horizon INTEGER NOT NULL DEFAULT 0',
  },
  {
    summary: 'index long objects, so that walks over a list look at each of them by itself',
    sql: 'CREATE INDEX objects_long ON objects (list, last_modified) WHERE octet_length(data) > 262144',
  },
  {
    summary: 'count how often the store was flushed',
    sql: 'CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  },
  {
    summary: 'add the keys of declared indexes',
    sql: Array.from(
      { length: 8 },
      (_, slot) => `ALTER TABLE objects ADD COLUMN key${slot} BLOB;
      CREATE INDEX objects_by_key${slot} ON objects (list, key${slot}, last_modified DESC) WHERE key${slot} IS NOT NULL;`,
    ).join('\n'),
  },
  {
    summary: 'add the words of text indexes',
    sql: `
      ALTER TABLE objects ADD COLUMN words TEXT;
      -- The index has no texts of its own. Each word begins with the number of the list and an x, so that one index serves all
      -- lists. Words are letters and digits, which the tokenizer keeps together.
      CREATE VIRTUAL TABLE object_words USING fts5(words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
      CREATE TRIGGER objects_words_added AFTER INSERT ON objects WHEN new.words IS NOT NULL BEGIN
        INSERT INTO object_words (rowid, words) VALUES (new.object, replace(' ' || new.words, ' ', ' ' || new.list || 'x'));
      END;
      CREATE TRIGGER objects_words_removed AFTER DELETE ON objects WHEN old.words IS NOT NULL BEGIN
        DELETE FROM object_words WHERE rowid = old.object;
      END;
      CREATE TRIGGER objects_words_changed AFTER UPDATE OF words ON objects WHEN old.words IS NOT new.words BEGIN
        DELETE FROM object_words WHERE rowid = old.object AND old.words IS NOT NULL;
        INSERT INTO object_words (rowid, words)
          SELECT new.object, replace(' ' || new.words, ' ', ' ' || new.list || 'x') WHERE new.words IS NOT NULL;
      END;
    `,
  },
  {
    summary: 'let older releases of sqlite3 check and copy the file',
    sql: `
      DROP INDEX objects_long;
      CREATE INDEX objects_long ON objects (list, last_modified) WHERE ${isLong};
    `,
  },
];

/** The cache, in a file of its own. */
export const cacheMigrations: readonly Migration[] = [
  {
    summary: 'create the table of the cache',
    sql: `
      CREATE TABLE cache (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        -- Milliseconds since 1970 UTC, with fractions.
        expires_at REAL NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX cache_by_expiry ON cache (expires_at);
    `,
  },
];

/** Security state, in a file of its own. */
export const securityStateMigrations: readonly Migration[] = [
  {
    summary: 'create the tables of security state',
    sql: `
      CREATE TABLE coffer_security_state (
        purpose TEXT NOT NULL,
        key TEXT NOT NULL,
        requester TEXT,
        value TEXT NOT NULL,
        -- Milliseconds since 1970 UTC, with fractions.
        expires_at REAL NOT NULL,
        PRIMARY KEY (purpose, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX coffer_security_state_by_requester ON coffer_security_state (purpose, requester, expires_at);
      CREATE INDEX coffer_security_state_by_expiry ON coffer_security_state (purpose, expires_at);

      -- The number of entries per purpose, expired ones included.
      CREATE TABLE coffer_security_counts (
        purpose TEXT PRIMARY KEY,
        entries INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TRIGGER coffer_security_state_added AFTER INSERT ON coffer_security_state BEGIN
        INSERT INTO coffer_security_counts (purpose, entries) VALUES (new.purpose, 1)
          ON CONFLICT (purpose) DO UPDATE SET entries = entries + 1;
      END;
      CREATE TRIGGER coffer_security_state_removed AFTER DELETE ON coffer_security_state BEGIN
        UPDATE coffer_security_counts SET entries = entries - 1 WHERE purpose = old.purpose;
      END;
    `,
  },
];

/** Returns the number of migrations that the file has. */
export function readSchemaVersion(connection: Connection): number {
  return connection.get<[number]>('PRAGMA user_version')?.[0] ?? 0;
}

/**
 * Refuses a file that a newer version of the service has migrated, or that belongs to another program.
 *
 * @throws Error
 */
export function requireKnownSchema(connection: Connection, migrations: readonly Migration[], path: string): void {
  // Before the version: another process may create the tables now, and the version with them.
  const [other] = connection.get<[string]>(`SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1`) ?? [];
  const version = readSchemaVersion(connection);
  if (version > migrations.length) {
    throw new Error(
      `${path} has schema version ${version}, but this version of Coffer knows ${migrations.length} at most: ` +
        'run the version that migrated it, or a later one',
    );
  }
  if (version === 0 && other !== undefined) {
    throw new Error(
      `${path} belongs to another program, or the -wal file next to it does: it has a table ${other}, and no schema version of ` +
        'Coffer. Configure another file, or move the files away and restore a backup (see docs/guides/operating.md)',
    );
  }
}

/** Returns one line for each pending migration. */
export function pendingMigrations(connection: Connection, migrations: readonly Migration[]): readonly string[] {
  return migrations.slice(readSchemaVersion(connection)).map((migration) => describe(migrations, migration));
}

/** Applies the next pending migration inside the open transaction, and returns its line. */
export function applyNextMigration(connection: Connection, migrations: readonly Migration[]): string | undefined {
  const version = readSchemaVersion(connection);
  const migration = migrations[version];
  if (migration === undefined) return undefined;
  connection.exec(migration.sql);
  connection.exec(`PRAGMA user_version = ${version + 1}`);
  return describe(migrations, migration);
}

function describe(migrations: readonly Migration[], migration: Migration): string {
  return `${migration.summary} (SQLite schema version ${migrations.indexOf(migration) + 1})`;
}
