// Reads the version and the objects of a small list, for the cache of this process.
import { keyOfList } from '../../core/lists/list-key.ts';
import type { ListContents, ListSource } from '../../core/lists/small-lists.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { maxSmallBytes, maxSmallObjects, SmallList } from '../../core/query/small-list.ts';
import { batchableQuery, type BatchableQuery, type BatchValue } from './batchable-query.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import { pageColumns, readListState, readPageText } from './page-text.ts';

// Every transaction that changes a list writes its row, and `xmin` names the last one that did. A server that takes over without
// the last changes may repeat all of that, but not the time at which the server was started.
const versionSql = `l.list || ' ' || l.xmin::text || ' ' || l.clock || ' ' || l.live || ' ' ||
  extract(epoch FROM pg_postmaster_start_time())`;
const ofList = 'FROM coffer_lists l';
const readVersion = batchableQuery(
  'read-list-version',
  `SELECT l.clock, l.horizon, l.live, ${versionSql} ${ofList} WHERE l.parent = $1::text AND l.kind = $2::text`,
);
const ofObjects = 'FROM coffer_objects e WHERE e.parent = $1 AND e.list = l.list';
const readContents = prepared(
  'read-list-contents',
  `SELECT l.clock, l.horizon, k.*, ${versionSql} ${ofList}
  CROSS JOIN LATERAL (SELECT ${pageColumns} FROM (SELECT e.id, e.last_modified, e.data ${ofObjects}) k) k
  WHERE l.parent = $1 AND l.kind = $2 AND l.live <= ${maxSmallObjects}
    AND (SELECT coalesce(sum(octet_length(e.data)), 0) ${ofObjects}) <= ${maxSmallBytes}`,
);

/** Access to committed state. */
interface Access {
  run(statement: Statement, values: readonly SqlValue[]): Promise<Result>;
  ask(query: BatchableQuery, values: readonly BatchValue[]): Promise<readonly Row[]>;
}

/** Length of the objects of a small list together, in bytes, of which scans cannot take long. */
const maxScannedBytes = 1_000_000;
// The length of a text is known without reading it.
const readIsSmall = batchableQuery(
  'read-is-small',
  `SELECT CASE WHEN l.live > ${maxSmallObjects} OR l.dead > ${maxSmallObjects} THEN 0
    WHEN (
      SELECT coalesce(sum(octet_length(e.data)), 0) FROM coffer_objects e WHERE e.parent = l.parent AND e.list = l.list
    ) > ${maxScannedBytes} THEN 0 ELSE 1 END
  ${ofList} WHERE l.parent = $1::text AND l.kind = $2::text`,
);

/** Whether the list has so few and short objects that its scans are short. */
export async function isSmallList(access: Pick<Access, 'ask'>, { parent, kind }: ListKey): Promise<boolean> {
  const [row] = await access.ask(readIsSmall, [parent, kind]);
  return row?.[0] === '1';
}

/** Returns the reads of a list in committed state. */
export function smallListSource(access: Access, list: ListKey): ListSource {
  const values = [list.parent, list.kind];
  return {
    get key() {
      return keyOfList(list);
    },
    async readVersion() {
      const [row] = await access.ask(readVersion, values);
      const version = row?.[3];
      if (row === undefined || typeof version !== 'string' || Number(row[2]) > maxSmallObjects) return undefined;
      return { version, ...readListState(row) };
    },
    readContents: async () => contentsIn((await access.run(readContents, values)).rows[0]),
  };
}

/** Reads the row of `readContents`; `undefined` when it is absent, or has a text that is too long. */
function contentsIn(row: Row | undefined): ListContents | undefined {
  const version = row?.[6];
  const page = row && readPageText(row, { limit: maxSmallObjects });
  if (typeof version !== 'string' || page === undefined) return undefined;
  const { timestamp, horizon, entries } = page;
  return {
    version,
    timestamp,
    horizon,
    objects: new SmallList(entries.filter((entry) => entry instanceof StoredObject)),
  };
}
