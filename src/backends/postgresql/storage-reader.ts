// The reading half of the storage contract. The same code serves committed state and units of work.
import type { KindCount, ListState, Page, PageText, StorageReader } from '../../contracts/storage.ts';
import { fitPage, joinPage, mostBytesOfChar } from '../../core/objects/page-text.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { Access } from './access.ts';
import { prepared, type Row, type SqlValue, type Statement, type ScanTarget } from './connection.ts';
import { readPageText } from './page-text.ts';
import { readJoinedPage } from './joined-page.ts';
import { everyTimestamp, splitTimestampRange } from '../../core/query/timestamp-range.ts';
import { compileCount, compilePage, isByIndex, readPageRows } from './page.ts';
import type { Compiled } from './parameters.ts';
import { batchableQuery, type BatchValue } from './batchable-query.ts';
import { StatementNames } from './statement-names.ts';

// The number of the list is asked for first. In a join the server may look for the id in all lists of the parent.
const fromObject = `FROM coffer_objects o WHERE o.parent = $1::text
  AND o.list = (SELECT l.list FROM coffer_lists l WHERE l.parent = $1::text AND l.kind = $2::text) AND o.id = $3::text`;
// Answers of several objects come in one piece, so that of a long one holds nobody else up: it is read by itself.
const readObject = batchableQuery(
  'read-object',
  `SELECT o.last_modified, CASE WHEN octet_length(o.data) <= 65536 THEN o.data END ${fromObject}`,
);
export const readLongObject = prepared('read-long-object', `SELECT o.last_modified, o.data ${fromObject}`);
const ofList = 'FROM coffer_lists l WHERE l.parent = $1::text AND l.kind = $2::text';
const readClock = batchableQuery('read-clock', `SELECT l.clock ${ofList}`);
const readCounts = batchableQuery('read-counts', `SELECT l.live, l.dead ${ofList}`);
const countKinds = prepared('count-kinds', 'SELECT kind, sum(live), sum(dead) FROM coffer_lists GROUP BY kind');
const readClocks = prepared(
  'read-clocks',
  'SELECT parent, clock FROM coffer_lists WHERE kind = $1 AND clock IS NOT NULL',
);
const readParents = prepared('read-parents', 'SELECT parent FROM coffer_lists WHERE kind = $1 AND live > 0');

const firstLists = prepared(
  'first-lists',
  `SELECT parent, kind, clock, live, dead, horizon FROM coffer_lists WHERE clock IS NOT NULL
  ORDER BY parent, kind LIMIT $1`,
);
const nextLists = prepared(
  'next-lists',
  `SELECT parent, kind, clock, live, dead, horizon FROM coffer_lists WHERE clock IS NOT NULL AND (parent, kind) > ($2, $3)
  ORDER BY parent, kind LIMIT $1`,
);

/** Pages of a list without filters come in few shapes, and often. */
const pages = new StatementNames('page', 100, { maxTogether: 16 });
/** Entries of a page that comes in one text, at most. */
const maxTextLimit = 1000;
/** Entries of a page that is asked for together with others, at most. */
const maxGatheredLimit = 200;

export class PostgresStorageReader<Reach extends Access = Access> implements StorageReader {
  protected readonly access: Reach;

  constructor(access: Reach) {
    this.access = access;
  }

  async get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    const values = [list.parent, list.kind, id];
    const [row] = await this.access.ask(readObject, values);
    if (row?.[1] !== null) return objectOf(id, row);
    return objectOf(id, (await this.access.run(readLongObject, values)).rows[0]);
  }

  listAll(list: ListKey, query: PageQuery): Promise<Page> {
    this.access.settle();
    return selectPage(this.access, list, query, query.includeDeleted === true);
  }

  listText(list: ListKey, query: PageQuery): Promise<PageText> {
    this.access.settle();
    return selectText(this.access, list, query);
  }

  async countAll(list: ListKey, selection: Selection): Promise<number> {
    this.access.settle();
    const includeDeleted = selection.includeDeleted === true;
    if (selection.filters.length === 0 && selection.ids === undefined) {
      const [row] = await this.access.ask(readCounts, [list.parent, list.kind]);
      return Number(row?.[0] ?? 0) + (includeDeleted ? Number(row?.[1] ?? 0) : 0);
    }
    const { text, values } = compileCount(await this.access.dialect(), list, selection, includeDeleted);
    const { rows } = await this.access.run({ text, scans: scanTargetOf(list) }, values);
    return Number(rows[0]?.[0] ?? 0);
  }

  async countKinds(): Promise<ReadonlyMap<string, KindCount>> {
    this.access.settle();
    const { rows } = await this.access.run(countKinds, []);
    return new Map(rows.map(([kind, live, dead]) => [kind!, { objects: Number(live), tombstones: Number(dead) }]));
  }

  async resourceTimestamp(list: ListKey): Promise<number | undefined> {
    this.access.settle();
    const clock = (await this.access.ask(readClock, [list.parent, list.kind]))[0]?.[0];
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
    return rows.map(([parent, kind, clock, live, dead, horizon]) => ({
      kind: kind!,
      parent: parent!,
      timestamp: Number(clock),
      horizon: Number(horizon),
      live: Number(live),
      dead: Number(dead),
    }));
  }
}

/** One page of the list; tombstones take part when `includeDeleted` says so, whatever the query says. */
export async function selectPage(
  access: Access,
  list: ListKey,
  query: PageQuery,
  includeDeleted: boolean,
): Promise<Page> {
  const dialect = await access.dialect();
  if (query.limit <= maxTextLimit) {
    const row = await askPage(access, list, compilePage(dialect, list, query, includeDeleted, 'text'), query);
    const page = readPageText(row, query.limit);
    if (page !== undefined) return fitPage(page, query.maxBytes);
  }
  return selectRows(access, list, query, includeDeleted);
}

/** The same however long it may be. */
async function selectRows(access: Access, list: ListKey, query: PageQuery, includeDeleted: boolean): Promise<Page> {
  const { text, values } = compilePage(await access.dialect(), list, query, includeDeleted, 'rows');
  return readPageRows((await access.run(statementOf(list, text, query), values)).rows, query);
}

/** The same page as one text, which the server joins. */
async function selectText(access: Access, list: ListKey, query: PageQuery): Promise<PageText> {
  const includeDeleted = query.includeDeleted === true;
  if (query.limit <= maxTextLimit) {
    const compiled = compilePage(await access.dialect(), list, query, includeDeleted, 'joined');
    const page = readJoinedPage(await askPage(access, list, compiled, query), query.limit);
    if (page !== undefined && page.text.length * mostBytesOfChar <= (query.maxBytes ?? Infinity)) return page;
  }
  return joinPage(await selectRows(access, list, query, includeDeleted), query.maxBytes);
}

async function askPage(
  access: Access,
  list: ListKey,
  { text, values }: Compiled,
  query: PageQuery,
): Promise<Row | undefined> {
  const asked = isByIndex(query) ? pages.query(text) : undefined;
  if (asked === undefined || !isPlain(values)) {
    return (await access.run(statementOf(list, text, query), values)).rows[0];
  }
  // A long page takes a connection of its own.
  if (query.limit > maxGatheredLimit) return (await access.run({ ...asked.alone, isQuick: false }, values)).rows[0];
  return (await access.ask(asked, values))[0];
}

function statementOf(list: ListKey, text: string, query: PageQuery): Statement {
  if (!isByIndex(query)) return { text, scans: scanTargetOf(list) };
  return query.limit > maxTextLimit ? { text, scans: pageTargetOf(list, query) } : { text };
}

/** Pages that start at a time are mostly short, also where the whole list is long. */
function pageTargetOf(list: ListKey, { filters }: PageQuery): ScanTarget {
  const isFromStart = splitTimestampRange(filters).range.low <= everyTimestamp.low;
  return { of: 'page', name: `${isFromStart ? 'all' : 'since'} ${scanTargetOf(list).name}` };
}

function isPlain(values: readonly SqlValue[]): values is readonly BatchValue[] {
  return values.every((value) => typeof value === 'string' || typeof value === 'number');
}

/** The object of a row of timestamp and text. */
export function objectOf(id: string, row: Row | undefined): StoredObject | undefined {
  return row === undefined ? undefined : new StoredObject(id, Number(row[0]), row[1]!);
}

function scanTargetOf({ kind, parent }: ListKey): ScanTarget {
  return { of: 'list', name: `${kind} ${parent}` };
}
