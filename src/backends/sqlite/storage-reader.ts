// The reading half of the storage contract. The same code serves committed state and units of work.
import type { KindCount, ListState, Page, PageText, StorageReader } from '../../contracts/storage.ts';
import { joinPage } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { Access } from './access.ts';
import type { Connection } from './connection.ts';
import { findList, listsAfter, type ListRow, type StoredListRow } from './lists.ts';
import { selectPage } from './page.ts';
import { compileSelection, fromWhere, walkWindows } from './selection.ts';
import type { Steps } from '../../base/steps.ts';

export class SqliteStorageReader implements StorageReader {
  protected readonly access: Access;

  constructor(access: Access) {
    this.access = access;
  }

  get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.access.run((connection) => readObject(connection, list, id));
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    return this.access.read((connection) => readPage(connection, findList(connection, list), query));
  }

  async listText(list: ListKey, query: PageQuery): Promise<PageText> {
    return joinPage(await this.listAll(list, query), query.maxBytes);
  }

  countAll(list: ListKey, selection: Selection): Promise<number> {
    return this.access.read((connection) => readCount(connection, findList(connection, list), selection));
  }

  countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    return this.access.run((connection) => {
      const sql = 'SELECT kind, sum(live), sum(dead) FROM lists GROUP BY kind';
      const rows = connection.all<[kind: string, live: number, dead: number]>(sql);
      return new Map(rows.map(([kind, objects, tombstones]) => [kind, { objects, tombstones }]));
    });
  }

  resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.access.run((connection) => findList(connection, list)?.clock);
  }

  allResourceTimestamps(kind: string): Promise<ReadonlyMap<string, number>> {
    return this.access.run(
      (connection) => new Map(connection.all<[string, number]>('SELECT parent, clock FROM lists WHERE kind = ?', kind)),
    );
  }

  listParents(kind: string): Promise<readonly string[]> {
    return this.access.run((connection) =>
      connection.all<[string]>('SELECT parent FROM lists WHERE kind = ? AND live > 0', kind).map(([parent]) => parent),
    );
  }

  lists(after: ListKey | undefined, limit: number): Promise<readonly ListState[]> {
    return this.access.run((connection) => listsAfter(connection, after, limit));
  }
}

/** The live object, `undefined` when there is none. */
export function readObject(connection: Connection, list: ListKey, id: string): StoredObject | undefined {
  const object = readShortObject(connection, list, id, noLimit);
  return object === 'long' ? undefined : object;
}

const noLimit = Number.MAX_SAFE_INTEGER;

/** The live object, unless its text has more bytes. */
export function readShortObject(
  connection: Connection,
  { kind, parent }: ListKey,
  id: string,
  mostBytes: number,
): StoredObject | 'long' | undefined {
  const row = connection.get<[number, string | null]>(
    `SELECT o.last_modified, CASE WHEN octet_length(o.data) <= ? THEN o.data END FROM lists l CROSS JOIN objects o
    WHERE l.kind = ? AND l.parent = ? AND o.list = l.list AND o.id = ?`,
    mostBytes,
    kind,
    parent,
    id,
  );
  if (row === undefined) return undefined;
  return row[1] === null ? 'long' : new StoredObject(id, row[0], row[1]);
}

/** One page of a list that may not be there. */
export function* readPage(connection: Connection, row: StoredListRow | undefined, query: PageQuery): Steps<Page> {
  if (row === undefined) return { timestamp: undefined, horizon: 0, entries: [], more: false };
  const page = yield* selectPage(connection, row, query, query.includeDeleted === true);
  return { timestamp: row.clock, horizon: row.horizon, ...page };
}

/** How many entries of a list that may not be there are selected; without filters and ids its row knows. */
export function* readCount(connection: Connection, row: ListRow | undefined, selection: Selection): Steps<number> {
  if (row === undefined) return 0;
  const includeDeleted = selection.includeDeleted === true;
  if (selection.filters.length === 0 && selection.ids === undefined) return row.live + (includeDeleted ? row.dead : 0);
  const compiled = compileSelection(row, selection, includeDeleted);
  let total = 0;
  yield* walkWindows(connection, compiled, 'descending', (window) => {
    for (const source of compiled.tables) {
      const from = fromWhere(compiled, source, window);
      const sql = `SELECT count(*) ${from.sql}`;
      total += connection.allMatching<[number]>(compiled.filters, sql, from.parameters)[0]![0];
    }
    return false;
  });
  return total;
}
