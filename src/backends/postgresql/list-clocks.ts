// Reads the clocks of many lists in one statement, together with the number of flushes.
import type { ListClocks } from '../../contracts/storage.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Access } from './access.ts';
import { textArray } from './array-text.ts';
import { prepared } from './connection.ts';

/** Maximum number of lists that one statement reads. */
const maxLists = 5000;

// The subselect is one look into an index for each list, whatever the server thinks of the length of the arrays.
const readClocks = prepared(
  'read-list-clocks',
  `SELECT
    (SELECT c.value FROM coffer_counters c WHERE c.name = 'flushes'),
    (SELECT json_agg((SELECT l.clock FROM coffer_lists l WHERE l.parent = q.parent AND l.kind = q.kind) ORDER BY q.place)
      FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) WITH ORDINALITY AS q (parent, kind, place))`,
);

/** Returns the clocks of the lists in their order. */
export async function readListClocks(access: Access, lists: readonly ListKey[]): Promise<ListClocks> {
  const clocks: (number | undefined)[] = [];
  let flushes = 0;
  for (let first = 0; first === 0 || first < lists.length; first += maxLists) {
    const chunk = lists.slice(first, first + maxLists);
    const values = [textArray(chunk.map(({ parent }) => parent)), textArray(chunk.map(({ kind }) => kind))];
    const [row] = (await access.run(readClocks, values)).rows;
    // The statement is one snapshot, and the last one has seen every flush that an earlier one has seen.
    flushes = Number(row?.[0] ?? 0);
    for (const clock of JSON.parse(row?.[1] ?? '[]') as readonly (number | null)[]) clocks.push(clock ?? undefined);
  }
  return { clocks, flushes };
}
