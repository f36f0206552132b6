// The function of the server that does a write alone. It takes the same locks in the same order as a unit of work does,
// and gives timestamps by the same rules. Each of its statements sees what was committed while an earlier one waited.

/**
 * SQL that creates it. It returns the timestamp given, NULL when something was not as expected, or -1 when it would have to
 * wait and shall not; then nothing is written.
 */
export const conditionalWriteFunction = `
  CREATE OR REPLACE FUNCTION coffer_write_alone(
    -- The object that the list belongs to; NULL for lists at the root.
    holder_parent text, holder_kind text, holder_id text,
    list_parent text, list_kind text, object_id text,
    -- Timestamp and text of the object that has to be there; NULL: there must be none.
    expected bigint, expected_data text,
    is_fresh boolean,
    -- Timestamp asked for; NULL: a new one.
    given bigint,
    time_now bigint,
    -- NULL: the object is deleted.
    new_data text, new_attributes text,
    -- Where its entries are; NULL: it has none.
    entry_folder text, entry_name text,
    -- Entries to be emptied, and what is put into them.
    emptied text[], added_permissions text[], added_keys text[], added_principals text[],
    -- Whether to wait for locks.
    is_patient boolean
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
        -- Whether it is locked or not there yet is for those to find out who wait.
        SELECT l.list, l.clock INTO list_number, list_clock FROM coffer_lists l
          WHERE l.parent = list_parent AND l.kind = list_kind FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
          RETURN -1;
        END IF;
      END IF;
      IF list_number IS NOT NULL THEN
        -- A deletion takes the list before it commits, so what is seen under the lock stays. Not in a join, in which the
        -- server may look for the id in the whole list, or in all lists of the parent.
        IF holder_id IS NOT NULL THEN
          PERFORM FROM coffer_objects o WHERE o.parent = holder_parent AND o.list = (
            SELECT l.list FROM coffer_lists l WHERE l.parent = holder_parent AND l.kind = holder_kind
          ) AND o.id = holder_id;
          IF NOT FOUND THEN
            RETURN NULL;
          END IF;
        END IF;
      ELSE
        -- A deletion cannot see a list that is still coming into being.
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
      -- One that lies in the past may be taken, so somebody has to look.
      IF given <= list_clock THEN
        RETURN NULL;
      END IF;
      stamp := coalesce(given, greatest(time_now, list_clock + 1));
      IF stamp > ${Number.MAX_SAFE_INTEGER} THEN
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
          -- Should the id be taken all the same, this fails, and the request is run again with another one.
          INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
            VALUES (list_parent, list_number, object_id, stamp, new_data, coalesce(new_attributes, new_data)::jsonb);
        ELSE
          INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
            VALUES (list_parent, list_number, object_id, stamp, new_data, coalesce(new_attributes, new_data)::jsonb)
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
          SET last_modified = stamp, data = new_data, attributes = coalesce(new_attributes, new_data)::jsonb
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
        -- What most writes do, and the quickest way of doing it.
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
