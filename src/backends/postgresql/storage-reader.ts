// The reading half of the storage contract. The same code serves committed state and units of work.
import type { KindCount, ListState, Page, StorageReader } from '../../contracts/storage.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { Access } from './access.ts';
import { prepared, quick, type Row } from './connection.ts';
import { compileCount, compilePage, readPage } from './page.ts';
import { StatementNames } from './statement-names.ts';

export const readObject = quick(
  'read-object',
  `SELECT o.last_modified, o.data FROM coffer_lists l
  JOIN coffer_objects o ON o.parent = l.parent AND o.list = l.list
  WHERE l.parent = $1 AND l.kind = $2 AND o.id = $3`,
);
const readClock = quick('read-clock', 'SELECT clock FROM coffer_lists WHERE parent = $1 AND kind = $2');
const readCounts = quick('read-counts', 'SELECT live, dead FROM coffer_lists WHERE parent = $1 AND kind = $2');
const countKinds = prepared('count-kinds', 'SELECT kind, sum(live), sum(dead) FROM coffer_lists GROUP BY kind');
const readClocks = prepared(
  'read-clocks',
  'SELECT parent, clock FROM coffer_lists WHERE kind = $1 AND clock IS NOT NULL',
);
const readParents = prepared('read-parents', 'SELECT parent FROM coffer_lists WHERE kind = $1 AND live > 0');

const firstLists = prepared(
  'first-lists',
  `SELECT parent, kind, clock, live, dead FROM coffer_lists WHERE clock IS NOT NULL
  ORDER BY parent, kind LIMIT $1`,
);
const nextLists = prepared(
  'next-lists',
  `SELECT parent, kind, clock, live, dead FROM coffer_lists WHERE clock IS NOT NULL AND (parent, kind) > ($2, $3)
  ORDER BY parent, kind LIMIT $1`,
);

/** Pages of a list without filters come in few shapes, and often. */
const pages = new StatementNames('page', 200);

export class PostgresStorageReader<Reach extends Access = Access> implements StorageReader {
  protected readonly access: Reach;

  constructor(access: Reach) {
    this.access = access;
  }

  async get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const { rows } = await this.access.run(readObject, [list.parent, list.kind, id]);
    return objectOf(id, rows[0]);
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    this.access.settle();
    return selectPage(this.access, list, query, query.includeDeleted === true);
  }

  async countAll(list: ListKey, selection: Selection): Promise<number> {
    this.access.settle();
    const includeDeleted = selection.includeDeleted === true;
    if (selection.filters.length === 0 && selection.ids === undefined) {
      const [row] = (await this.access.run(readCounts, [list.parent, list.kind])).rows;
      return Number(row?.[0] ?? 0) + (includeDeleted ? Number(row?.[1] ?? 0) : 0);
    }
    const { text, values } = compileCount(await this.access.dialect(), list, selection, includeDeleted);
    const { rows } = await this.access.run({ text }, values);
    return Number(rows[0]?.[0] ?? 0);
  }

  async countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    this.access.settle();
    const { rows } = await this.access.run(countKinds, []);
    return new Map(rows.map(([kind, live, dead]) => [kind!, { objects: Number(live), tombstones: Number(dead) }]));
  }

  async resourceTimestamp(list: ListKey): Promise<number | undefined> {
    this.access.settle();
    const clock = (await this.access.run(readClock, [list.parent, list.kind])).rows[0]?.[0];
    return typeof clock === 'string' ? Number(clock) : undefined;
  }

  async allResourceTimestamps(kind: string): Promise<ReadonlyMap<string, number>> {
    this.access.settle();
    const { rows } = await this.access.run(readClocks, [kind]);
    return new Map(rows.map(([parent, clock]) => [parent!, Number(clock)]));
  }

  async listParents(kind: string): Promise<readonly string[]> {
    this.access.settle();
    return (await this.access.run(readParents, [kind])).rows.map(([parent]) => parent!);
  }

  async lists(after: ListKey | undefined, limit: number): Promise<readonly ListState[]> {
    this.access.settle();
    const { rows } =
      after === undefined
        ? await this.access.run(firstLists, [limit])
        : await this.access.run(nextLists, [limit, after.parent, after.kind]);
    return rows.map(([parent, kind, clock, live, dead]) => {
      return { kind: kind!, parent: parent!, timestamp: Number(clock), live: Number(live), dead: Number(dead) };
    });
  }
}

/** One page of the list; tombstones take part when `includeDeleted` says so, whatever the query says. */
export async function selectPage(
  access: Access,
  list: ListKey,
  query: PageQuery,
  includeDeleted: boolean,
): Promise<Page> {
  const { text, values } = compilePage(await access.dialect(), list, query, includeDeleted);
  const isCommon = query.ids === undefined && query.filters.every(({ field }) => field.name === 'last_modified');
  const { rows } = await access.run(isCommon ? pages.statement(text) : { text }, values);
  return readPage(rows, query.limit);
}

/** The object of a row of timestamp and text. */
export function objectOf(id: string, row: Row | undefined): StoredObject | undefined {
  return row === undefined ? undefined : new StoredObject(id, Number(row[0]), row[1]!);
}
