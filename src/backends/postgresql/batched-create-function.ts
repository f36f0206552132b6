// The function of the server that creates new objects for several conditional writes, in any lists, at once. Most conditional
// writes create an object under a new random id. One statement does for all of them what `coffer_write_alone` does for one.
import { clockRuleSql } from './clock-rule-sql.ts';
import { keyColumns, keysFrom } from './key-columns.ts';

/**
 * SQL that creates the function. It returns for each list the timestamp of its first object, which those of the others
 * follow without gaps. It returns NULL when something was not as expected, or -1 when it would have to wait and must not.
 * With NULL and -1 nothing is written to the list.
 */
export const batchedCreateFunction = `
  CREATE OR REPLACE FUNCTION coffer_create_together(
    -- The lists, each once, and the objects that they belong to; the id is NULL for lists at the root.
    list_parents text[], list_kinds text[],
    holder_parents text[], holder_kinds text[], holder_ids text[],
    -- Place of the permission entries of their objects; NULL: they have none.
    list_folders text[],
    -- How many objects each list gets.
    list_counts integer[],
    -- The objects: number of the list, place among the objects that it gets, from 0, and what is stored.
    object_lists integer[], object_places integer[], object_ids text[], object_data text[], object_attributes text[],
    -- Their permission entries, by number of the object.
    entry_objects integer[], entry_permissions text[], entry_keys text[], entry_principals text[],
    time_now bigint,
    -- Whether to wait for the lock. It waits for the first list only, so the call must name a single list then.
    is_patient boolean,
    -- Timestamps that the objects above must have, by list; NULL: any.
    holder_versions bigint[],
    -- Keys in declared indexes: of all slots of the first object, then of the second; NULL: none have any.
    object_keys bytea[]
  ) RETURNS bigint[] LANGUAGE plpgsql
    -- Every row is found by its key. A plan made while the tables are small would read them whole later.
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $$
    DECLARE
      -- For each list: its number, 0 where it is not to be written to, -1 where it was not locked.
      numbers bigint[];
      -- The first timestamp to give.
      firsts bigint[];
      -- The number of its folder, 0 where it has none.
      folders bigint[];
      -- What is returned.
      answers bigint[];
    BEGIN
      IF is_patient THEN
        PERFORM FROM coffer_lists l
          WHERE l.parent = list_parents[1] AND l.kind = list_kinds[1] FOR NO KEY UPDATE;
        IF NOT FOUND THEN
          -- A deletion does not see a list that is not committed yet.
          IF holder_ids[1] IS NOT NULL THEN
            PERFORM FROM coffer_lists l JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list
              WHERE l.parent = holder_parents[1] AND l.kind = holder_kinds[1] AND o.id = holder_ids[1]
              AND o.last_modified = coalesce(holder_versions[1], o.last_modified)
              FOR KEY SHARE OF l, o;
            IF NOT FOUND THEN
              RETURN array_fill(NULL::bigint, ARRAY[cardinality(object_ids)]);
            END IF;
          END IF;
          INSERT INTO coffer_lists (parent, kind) VALUES (list_parents[1], list_kinds[1]) ON CONFLICT DO NOTHING;
          PERFORM FROM coffer_lists l
            WHERE l.parent = list_parents[1] AND l.kind = list_kinds[1] FOR NO KEY UPDATE;
        END IF;
      END IF;
      -- A call that waits finds out whether missing lists are locked or absent.
      SELECT array_agg(coalesce(l.list, -1) ORDER BY w.n), array_agg(${clockRuleSql.next('l.clock', 'time_now')} ORDER BY w.n)
      INTO numbers, firsts
      FROM unnest(list_parents, list_kinds) WITH ORDINALITY AS w (parent, kind, n)
      LEFT JOIN LATERAL (
        SELECT l.list, l.clock FROM coffer_lists l WHERE l.parent = w.parent AND l.kind = w.kind
        FOR NO KEY UPDATE SKIP LOCKED
      ) l ON true;

      -- A deletion locks the list before it commits, so what is read under the lock stays true. The object that a list
      -- belongs to is not found in a join, in which the server may search the whole list for the id.
      SELECT array_agg(c.list ORDER BY c.n), array_agg(c.folder ORDER BY c.n),
        array_agg(CASE WHEN c.list > 0 THEN c.first WHEN c.list = -1 AND NOT is_patient THEN -1 END ORDER BY c.n)
      INTO numbers, folders, answers
      FROM (
        SELECT w.n, w.first,
          CASE
            WHEN w.list = -1 THEN -1
            WHEN NOT ${clockRuleSql.exists(clockRuleSql.last('w.first', 'w.count'))} THEN 0
            WHEN w.holder_id IS NULL OR EXISTS (
              SELECT FROM coffer_objects o WHERE o.parent = w.holder_parent AND o.list = (
                SELECT l.list FROM coffer_lists l WHERE l.parent = w.holder_parent AND l.kind = w.holder_kind
              ) AND o.id = w.holder_id AND o.last_modified = coalesce(w.holder_version, o.last_modified)
            ) THEN w.list
            ELSE 0
          END AS list,
          CASE
            WHEN w.folder IS NULL THEN 0
            ELSE coalesce((SELECT f.folder FROM coffer_folders f WHERE f.parent = w.folder), -1)
          END AS folder
        FROM unnest(numbers, firsts, list_counts, holder_parents, holder_kinds, holder_ids, holder_versions, list_folders)
          WITH ORDINALITY AS w (list, first, count, holder_parent, holder_kind, holder_id, holder_version, folder, n)
        OFFSET 0
      ) c;
      IF -1 = ANY (folders) THEN
        INSERT INTO coffer_folders (parent)
          SELECT w.parent FROM unnest(list_folders, folders, numbers) AS w (parent, folder, list)
          WHERE w.folder = -1 AND w.list > 0 ON CONFLICT DO NOTHING;
        folders := ARRAY(
          SELECT coalesce(f.folder, 0) FROM unnest(list_folders) WITH ORDINALITY AS w (parent, n)
          LEFT JOIN coffer_folders f ON f.parent = w.parent ORDER BY w.n
        );
      END IF;

      -- When an id is taken nevertheless, this fails, and the requests are retried with others.
      INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes, ${keyColumns})
        SELECT list_parents[b.list], numbers[b.list], b.id, firsts[b.list] + b.place, b.data,
          coalesce(b.attributes, b.data)::jsonb, ${keysFrom('object_keys', 'b.n')}
        FROM unnest(object_lists, object_places, object_ids, object_data, object_attributes)
          WITH ORDINALITY AS b (list, place, id, data, attributes, n)
        WHERE numbers[b.list] > 0;
      UPDATE coffer_lists l SET clock = ${clockRuleSql.last('w.first', 'w.count')}, live = l.live + w.count
        FROM unnest(list_parents, list_kinds, numbers, firsts, list_counts) AS w (parent, kind, list, first, count)
        WHERE l.parent = w.parent AND l.kind = w.kind AND w.list > 0;

      INSERT INTO coffer_entries (parent, folder, name, permission, principal_key, principal)
        SELECT list_folders[object_lists[b.object]], folders[object_lists[b.object]], object_ids[b.object],
          b.permission, b.principal_key, b.principal
        FROM unnest(entry_objects, entry_permissions, entry_keys, entry_principals)
          AS b (object, permission, principal_key, principal)
        WHERE numbers[object_lists[b.object]] > 0;
      RETURN answers;
    END
  $$;
`;
