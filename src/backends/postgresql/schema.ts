// The tables, as numbered migrations. Each runs in one transaction with the update of the version, under a lock, so any
// number of processes may migrate at once.
import { addKeyColumns, addWordColumn } from './key-columns.ts';
import { batchedCreateFunction } from './batched-create-function.ts';
import { conditionalWriteFunction } from './conditional-write-function.ts';

export interface Migration {
  /** Description for the operator. */
  readonly summary: string;
  readonly sql: string;
}

/** A set of tables with a version of its own. */
export interface Component {
  readonly name: 'database' | 'cache' | 'security';
  /** New migrations are added at the end. Released ones never change. */
  readonly migrations: readonly Migration[];
}

// All names start with `coffer_`, so that the tables can share a database with others. The parent is the first column of
// each key, so that a distributed server can keep the rows of one parent together.

/** Storage and permissions. */
export const databaseComponent: Component = {
  name: 'database',
  migrations: [
    {
      summary: 'create the tables of lists, objects, tombstones and permissions',
      sql: `
        -- Numbers of lists and folders. A list that is emptied with its parent gets a new number. The rows under the old
        -- one are deleted later.
        CREATE SEQUENCE coffer_numbers AS bigint;

        -- A lock on the row of a list gives the right to its next timestamp, and to write to the list.
        CREATE TABLE coffer_lists (
          parent text COLLATE "C" NOT NULL,
          kind text COLLATE "C" NOT NULL,
          list bigint NOT NULL DEFAULT nextval('coffer_numbers'),
          -- The highest timestamp ever given; NULL when the list was only locked so far.
          clock bigint,
          -- Numbers of objects and tombstones.
          live bigint NOT NULL DEFAULT 0,
          dead bigint NOT NULL DEFAULT 0,
          PRIMARY KEY (parent, kind)
        ) WITH (fillfactor = 50);
        CREATE INDEX coffer_lists_by_kind ON coffer_lists (kind);

        -- Timestamps are unique in a list because only one writer at a time may give them. A unique index would make each
        -- change of a timestamp wait for shared locks on the object.
        CREATE TABLE coffer_objects (
          parent text COLLATE "C" NOT NULL,
          list bigint NOT NULL,
          id text COLLATE "C" NOT NULL,
          last_modified bigint NOT NULL,
          -- The text as it was sent, byte for byte, and its attributes for filters and sorting.
          data text NOT NULL,
          attributes jsonb NOT NULL,
          PRIMARY KEY (parent, list, id)
        );
        CREATE INDEX coffer_objects_by_time ON coffer_objects (parent, list, last_modified);

        CREATE TABLE coffer_tombstones (
          parent text COLLATE "C" NOT NULL,
          list bigint NOT NULL,
          id text COLLATE "C" NOT NULL,
          last_modified bigint NOT NULL,
          PRIMARY KEY (parent, list, id)
        );
        CREATE INDEX coffer_tombstones_by_time ON coffer_tombstones (parent, list, last_modified);

        -- The groups that users are in.
        CREATE TABLE coffer_memberships (
          user_key text COLLATE "C" NOT NULL,
          principal text COLLATE "C" NOT NULL,
          PRIMARY KEY (user_key, principal)
        );
        CREATE INDEX coffer_memberships_by_principal ON coffer_memberships (principal);

        -- The id of an object is its folder, up to the last slash, and its name there.
        CREATE TABLE coffer_folders (
          parent text COLLATE "C" PRIMARY KEY,
          folder bigint NOT NULL DEFAULT nextval('coffer_numbers')
        );
        CREATE TABLE coffer_entries (
          parent text COLLATE "C" NOT NULL,
          folder bigint NOT NULL,
          name text COLLATE "C" NOT NULL,
          permission text COLLATE "C" NOT NULL,
          -- Shortened when it is too long for an index; then the next column has the whole text.
          principal_key text COLLATE "C" NOT NULL,
          principal text COLLATE "C",
          PRIMARY KEY (parent, folder, name, permission, principal_key)
        );
        CREATE INDEX coffer_entries_by_principal ON coffer_entries (principal_key, parent, permission, name, folder);

        -- Lists and folders that are pending deletion.
        CREATE TABLE coffer_doomed_lists (
          parent text COLLATE "C" NOT NULL,
          list bigint NOT NULL,
          PRIMARY KEY (parent, list)
        );
        CREATE TABLE coffer_doomed_folders (
          parent text COLLATE "C" NOT NULL,
          folder bigint NOT NULL,
          PRIMARY KEY (parent, folder)
        );

        -- jsonb orders arrays and objects as the protocol does, except for the texts in them, which follow the language of
        -- the database. This function writes each byte of a text as three digits, which have one order in all languages.
        CREATE FUNCTION coffer_comparable_text(value text) RETURNS text LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
          SELECT coalesce(string_agg(lpad(get_byte(convert_to(value, 'UTF8'), n)::text, 3, '0'), '' ORDER BY n), '')
          FROM generate_series(0, octet_length(value) - 1) AS n
        $$;
        CREATE FUNCTION coffer_comparable(value jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
          BEGIN
            CASE jsonb_typeof(value)
              WHEN 'string' THEN
                RETURN to_jsonb(coffer_comparable_text(value #>> '{}'));
              WHEN 'array' THEN
                RETURN (
                  SELECT coalesce(jsonb_agg(coffer_comparable(e.item) ORDER BY e.place), '[]')
                  FROM jsonb_array_elements(value) WITH ORDINALITY AS e (item, place)
                );
              WHEN 'object' THEN
                RETURN (
                  SELECT coalesce(jsonb_object_agg(coffer_comparable_text(e.key), coffer_comparable(e.item)), '{}')
                  FROM jsonb_each(value) AS e (key, item)
                );
              ELSE
                RETURN value;
            END CASE;
          END
        $$;
      `,
    },
    {
      summary: 'keep the whole id of users whose id is too long for an index',
      sql: `
        -- As with principals of entries: NULL when the key is the id.
        ALTER TABLE coffer_memberships ADD COLUMN user_id text COLLATE "C";
        -- Existing members are found in the groups, by the digest at the end of their keys.
        UPDATE coffer_memberships m SET user_id = found.member
        FROM (
          SELECT DISTINCT listed.member
          FROM coffer_lists l
          JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list
          CROSS JOIN LATERAL jsonb_array_elements_text(
            CASE jsonb_typeof(o.attributes -> 'members') WHEN 'array' THEN o.attributes -> 'members' ELSE '[]' END
          ) AS listed (member)
          WHERE l.kind = 'group' AND octet_length(listed.member) > 500
        ) found
        WHERE right(m.user_key, 43) =
          rtrim(translate(encode(sha256(convert_to(found.member, 'UTF8')), 'base64'), '+/', '-_'), '=');
      `,
    },
    {
      summary: 'keep the indexes by time apart from those by id',
      sql: `
        -- In a collation of their own (with the same order), so that only queries that name it can use them.
        DROP INDEX coffer_objects_by_time;
        CREATE INDEX coffer_objects_by_time ON coffer_objects (parent COLLATE "POSIX", list, last_modified);
        DROP INDEX coffer_tombstones_by_time;
        CREATE INDEX coffer_tombstones_by_time ON coffer_tombstones (parent COLLATE "POSIX", list, last_modified);
      `,
    },
    {
      summary: 'add the function for single-statement writes',
      sql: conditionalWriteFunction,
    },
    {
      summary: 'add the function that creates objects together',
      sql: batchedCreateFunction,
    },
    {
      summary: 'keep the highest timestamp of a deletion without a tombstone',
      sql: 'ALTER TABLE coffer_lists ADD COLUMN horizon bigint NOT NULL DEFAULT 0',
    },
    {
      // The functions above, for databases that were migrated earlier.
      summary: 'renew the functions that write',
      sql: conditionalWriteFunction + batchedCreateFunction,
    },
    {
      // In addition to the function with fewer parameters, which older processes still call.
      summary: 'distinguish objects with equal timestamps in the function for single-statement writes',
      sql: conditionalWriteFunction,
    },
    {
      summary: 'count how often the store was flushed',
      sql: 'CREATE TABLE coffer_counters (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL)',
    },
    {
      // The functions are added to those with fewer parameters, which older processes still call.
      summary: 'add the keys of declared indexes',
      sql: addKeyColumns + conditionalWriteFunction + batchedCreateFunction,
    },
    {
      summary: 'add the words of text indexes',
      sql: addWordColumn + conditionalWriteFunction + batchedCreateFunction,
    },
    {
      summary: 'compare arrays and objects with long texts or many levels in linear time',
      sql: `
        -- jsonb orders arrays and objects as the protocol does, except for the texts in them, which follow the language of
        -- the database. These functions write each byte of a text as eight binary digits, which have one order in all
        -- languages. They replace others whose time was quadratic in the length of a text and in the depth of a value.
        CREATE OR REPLACE FUNCTION coffer_comparable_text(value text) RETURNS text
          LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
          SELECT ('x' || encode(convert_to(value, 'UTF8'), 'hex'))::varbit::text
        $$;
        -- Divides the JSON into texts with their quotation marks and what stands between them.
        CREATE OR REPLACE FUNCTION coffer_comparable(value jsonb) RETURNS jsonb
          LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
          SELECT string_agg(
            CASE WHEN t.part[1] LIKE '"%' THEN '"' || coffer_comparable_text(t.part[1]::jsonb #>> '{}') || '"'
              ELSE t.part[1] END,
            '' ORDER BY t.place
          )::jsonb
          FROM regexp_matches(value::text, '"(?:[^"\\\\]|\\\\.)*"|[^"]+', 'g') WITH ORDINALITY AS t (part, place)
        $$;
      `,
    },
    {
      summary: 'look at the object above under the lock of its list, also when the list is new',
      sql: conditionalWriteFunction,
    },
    {
      summary: 'compare arrays and objects in the same order also where the language compares digits as numbers',
      sql: `
        -- As above, with the letters k and t as binary digits. jsonb has no other order of texts than that of the database. No
        -- language reorders these letters or has a letter that is written with both, as with aa in Danish, and no option of a
        -- language has another order for them, as numeric order has for digits.
        CREATE OR REPLACE FUNCTION coffer_comparable_text(value text) RETURNS text
          LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
          SELECT translate(('x' || encode(convert_to(value, 'UTF8'), 'hex'))::varbit::text, '01', 'kt')
        $$;
      `,
    },
  ],
};

/** The cache. */
export const cacheComponent: Component = {
  name: 'cache',
  migrations: [
    {
      summary: 'create the table of the cache',
      sql: `
        -- Unlogged: a cache may be lost with the server.
        CREATE UNLOGGED TABLE coffer_cache (
          key text COLLATE "C" PRIMARY KEY,
          value text NOT NULL,
          -- Milliseconds since 1970 UTC, with fractions.
          expires_at double precision NOT NULL
        );
        CREATE INDEX coffer_cache_by_expiry ON coffer_cache (expires_at);
      `,
    },
  ],
};

/** Security state, in the database of the storage. */
export const securityComponent: Component = {
  name: 'security',
  migrations: [
    {
      summary: 'create the tables of security state',
      sql: `
        CREATE TABLE coffer_security_state (
          purpose text COLLATE "C" NOT NULL,
          key text COLLATE "C" NOT NULL,
          requester text COLLATE "C",
          value text COLLATE "C" NOT NULL,
          -- Milliseconds since 1970 UTC, with fractions.
          expires_at double precision NOT NULL,
          PRIMARY KEY (purpose, key)
        );
        CREATE INDEX coffer_security_state_by_requester ON coffer_security_state (purpose, requester, expires_at);
        CREATE INDEX coffer_security_state_by_expiry ON coffer_security_state (purpose, expires_at);

        -- The number of entries per purpose, expired ones included.
        CREATE TABLE coffer_security_counts (
          purpose text COLLATE "C" PRIMARY KEY,
          entries bigint NOT NULL
        ) WITH (fillfactor = 50);
        CREATE FUNCTION coffer_security_state_added() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            INSERT INTO coffer_security_counts AS held (purpose, entries)
              SELECT purpose, count(*) FROM added GROUP BY purpose
              ON CONFLICT (purpose) DO UPDATE SET entries = held.entries + excluded.entries;
            RETURN NULL;
          END
        $$;
        CREATE FUNCTION coffer_security_state_removed() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            UPDATE coffer_security_counts AS held SET entries = held.entries - gone.entries
              FROM (SELECT purpose, count(*) AS entries FROM removed GROUP BY purpose) AS gone
              WHERE held.purpose = gone.purpose;
            RETURN NULL;
          END
        $$;
        CREATE TRIGGER coffer_security_state_added AFTER INSERT ON coffer_security_state
          REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION coffer_security_state_added();
        CREATE TRIGGER coffer_security_state_removed AFTER DELETE ON coffer_security_state
          REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION coffer_security_state_removed();
      `,
    },
  ],
};
