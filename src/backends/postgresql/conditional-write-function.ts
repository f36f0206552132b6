// The function of the server that does a conditional write. It takes the same locks in the same order as a unit of work, and
// gives timestamps by the same rule. Each of its statements sees what was committed while an earlier one waited.
import { clockRuleSql } from './clock-rule-sql.ts';
import { keyColumns, keysFrom } from './key-columns.ts';

/**
 * SQL that creates the function. It returns the timestamp given, NULL when something was not as expected, or -1 when it
 * would have to wait and must not. With NULL and -1 nothing is written.
 */
export const conditionalWriteFunction = `
  CREATE OR REPLACE FUNCTION coffer_write_alone(
    -- The object that the list belongs to; NULL for lists at the root.
    holder_parent text, holder_kind text, holder_id text,
    list_parent text, list_kind text, object_id text,
    -- Timestamp and text of the live object that must exist; NULL: none may exist.
    expected bigint, expected_data text,
    is_fresh boolean,
    -- Timestamp that the client asks for; NULL: a new one.
    given bigint,
    time_now bigint,
    -- NULL: the object is deleted.
    new_data text, new_attributes text,
    -- Place of its permission entries; NULL: it has none.
    entry_folder text, entry_name text,
    -- Permissions to be emptied, and the permission entries to be added.
    emptied text[], added_permissions text[], added_keys text[], added_principals text[],
    -- Whether to wait for locks.
    is_patient boolean,
    -- Timestamp that the object above must have; NULL: any.
    holder_version bigint,
    -- Keys in declared indexes, by slot; NULL: none.
    new_keys bytea[]
  ) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      list_number bigint;
      list_clock bigint;
      stamp bigint;
      live_change integer := 0;
      dead_change integer := 0;
      folder_number bigint;
    BEGIN
      IF is_patient THEN
        SELECT l.list, l.clock INTO list_number, list_clock FROM coffer_lists l
          WHERE l.parent = list_parent AND l.kind = list_kind FOR NO KEY UPDATE;
      ELSE
        -- A call that waits finds out whether the list is locked or absent.
        SELECT l.list, l.clock INTO list_number, list_clock FROM coffer_lists l
          WHERE l.parent = list_parent AND l.kind = list_kind FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
          RETURN -1;
        END IF;
      END IF;
      IF list_number IS NULL THEN
        -- A deletion does not see a list that is not committed yet.
        IF holder_id IS NOT NULL THEN
          PERFORM FROM coffer_lists l JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list
            WHERE l.parent = holder_parent AND l.kind = holder_kind AND o.id = holder_id FOR KEY SHARE OF l, o;
          IF NOT FOUND THEN
            RETURN NULL;
          END IF;
        END IF;
        INSERT INTO coffer_lists (parent, kind) VALUES (list_parent, list_kind) ON CONFLICT DO NOTHING;
        SELECT l.list, l.clock INTO list_number, list_clock FROM coffer_lists l
          WHERE l.parent = list_parent AND l.kind = list_kind FOR NO KEY UPDATE;
      END IF;
      -- A deletion locks the list before it commits, and so does a change that writes to the list depend on. So what is read
      -- under the lock stays true. This is no join, in which the server may search the whole list, or all lists of the
      -- parent, for the id.
      IF holder_id IS NOT NULL THEN
        PERFORM FROM coffer_objects o WHERE o.parent = holder_parent AND o.list = (
          SELECT l.list FROM coffer_lists l WHERE l.parent = holder_parent AND l.kind = holder_kind
        ) AND o.id = holder_id AND o.last_modified = coalesce(holder_version, o.last_modified);
        IF NOT FOUND THEN
          RETURN NULL;
        END IF;
      END IF;
      -- Another entry may have a timestamp of the past. A transaction finds out.
      IF ${clockRuleSql.isPast('given', 'list_clock')} THEN
        RETURN NULL;
      END IF;
      stamp := coalesce(given, ${clockRuleSql.next('list_clock', 'time_now')});
      IF NOT ${clockRuleSql.exists('stamp')} THEN
        RETURN NULL;
      END IF;

      IF new_data IS NULL THEN
        DELETE FROM coffer_objects o
          WHERE o.parent = list_parent AND o.list = list_number AND o.id = object_id
          AND o.last_modified = expected AND o.data = expected_data;
        IF NOT FOUND THEN
          RETURN NULL;
        END IF;
        INSERT INTO coffer_tombstones (parent, list, id, last_modified)
          VALUES (list_parent, list_number, object_id, stamp);
        live_change := -1;
        dead_change := 1;
      ELSIF expected IS NULL THEN
        IF is_fresh THEN
          -- When the id is taken nevertheless, this fails, and the request is retried with another one.
          INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes, ${keyColumns})
            VALUES (list_parent, list_number, object_id, stamp, new_data, coalesce(new_attributes, new_data)::jsonb,
              ${keysFrom('new_keys')});
        ELSE
          INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes, ${keyColumns})
            VALUES (list_parent, list_number, object_id, stamp, new_data, coalesce(new_attributes, new_data)::jsonb,
              ${keysFrom('new_keys')})
            ON CONFLICT DO NOTHING;
          IF NOT FOUND THEN
            RETURN NULL;
          END IF;
          DELETE FROM coffer_tombstones t WHERE t.parent = list_parent AND t.list = list_number AND t.id = object_id;
          IF FOUND THEN
            dead_change := -1;
          END IF;
        END IF;
        live_change := 1;
      ELSE
        UPDATE coffer_objects o
          SET last_modified = stamp, data = new_data, attributes = coalesce(new_attributes, new_data)::jsonb,
            (${keyColumns}) = ROW (${keysFrom('new_keys')})
          WHERE o.parent = list_parent AND o.list = list_number AND o.id = object_id
          AND o.last_modified = expected AND o.data = expected_data;
        IF NOT FOUND THEN
          RETURN NULL;
        END IF;
      END IF;
      UPDATE coffer_lists l SET clock = stamp, live = l.live + live_change, dead = l.dead + dead_change
        WHERE l.parent = list_parent AND l.kind = list_kind;

      IF entry_folder IS NULL THEN
        RETURN stamp;
      END IF;
      SELECT f.folder INTO folder_number FROM coffer_folders f WHERE f.parent = entry_folder;
      IF folder_number IS NULL AND added_keys IS NOT NULL THEN
        INSERT INTO coffer_folders (parent) VALUES (entry_folder) ON CONFLICT DO NOTHING;
        SELECT f.folder INTO folder_number FROM coffer_folders f WHERE f.parent = entry_folder;
      END IF;
      IF new_data IS NULL THEN
        DELETE FROM coffer_entries e
          WHERE e.parent = entry_folder AND e.folder = folder_number AND e.name = entry_name;
      ELSIF emptied IS NOT NULL THEN
        DELETE FROM coffer_entries e
          WHERE e.parent = entry_folder AND e.folder = folder_number AND e.name = entry_name
          AND e.permission = ANY (emptied);
      END IF;
      IF is_fresh AND cardinality(added_keys) = 1 THEN
        -- The most frequent case, in its fastest form.
        INSERT INTO coffer_entries (parent, folder, name, permission, principal_key, principal) VALUES
          (entry_folder, folder_number, entry_name, added_permissions[1], added_keys[1], added_principals[1]);
      ELSIF added_keys IS NOT NULL THEN
        INSERT INTO coffer_entries (parent, folder, name, permission, principal_key, principal)
          SELECT entry_folder, folder_number, entry_name, b.permission, b.principal_key, b.principal
          FROM unnest(added_permissions, added_keys, added_principals) AS b (permission, principal_key, principal)
          ON CONFLICT DO NOTHING;
      END IF;
      RETURN stamp;
    END
  $$;
`;
