// Reads a page that a declared index delivers in its order: without keys, tests and a sort.
import { keyAfter, planOrderedRanges, type KeyRange, type OrderedRanges } from '../../core/index/page-ranges.ts';
import { cutPage, type EntryPage } from '../../core/objects/page-text.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import type { Connection, SqlValue } from './connection.ts';
import { dataOf, FoundEntries, inlineBytes, type EntryRow } from './found-entries.ts';
import type { ListRow } from './lists.ts';

/** Maximum number of entries of a page that is read at once. */
const maxEntries = 1000;

/**
 * Returns a page in the order of a declared index; `undefined` when none delivers it, when it is long, and for a report, which
 * is about keys.
 */
export function selectOrdered(connection: Connection, list: ListRow, query: PageQuery): EntryPage | undefined {
  const ordered = query.report === undefined ? planOrderedRanges(query) : undefined;
  if (ordered === undefined) return undefined;
  const { limit, maxBytes } = query;
  const page = new OrderedPage(connection, list, ordered, { limit: Math.min(limit, maxEntries), maxBytes });
  const found = page.read();
  return found === undefined || (found.more && limit > maxEntries) ? undefined : found;
}

type KeyedRow = [...entry: EntryRow, key: Uint8Array];

class OrderedPage {
  readonly #connection: Connection;
  readonly #list: number;
  readonly #page: OrderedRanges;
  readonly #size: Pick<PageQuery, 'limit' | 'maxBytes'>;
  readonly #key: string;
  readonly #found: FoundEntries;

  constructor(
    connection: Connection,
    { list }: ListRow,
    page: OrderedRanges,
    size: Pick<PageQuery, 'limit' | 'maxBytes'>,
  ) {
    this.#connection = connection;
    this.#list = list;
    this.#page = page;
    this.#size = size;
    this.#key = `e.key${page.slot}`;
    this.#found = new FoundEntries(connection, size.maxBytes);
  }

  read(): EntryPage | undefined {
    if (this.#hasUncertain()) return undefined;
    for (const range of this.#page.ranges) {
      if (range.timestamps !== undefined || range.isReverse !== this.#page.isNewestFirst) this.#add(range);
      else this.#addWithTies(range);
    }
    return cutPage(this.#found.entries, this.#size);
  }

  #hasUncertain(): boolean {
    const { uncertain } = this.#page;
    if (uncertain === undefined) return false;
    const sql = `SELECT 1 FROM objects e WHERE e.list = ? AND ${this.#key} >= ? AND ${this.#key} < ? LIMIT 1`;
    return this.#connection.get(sql, this.#list, uncertain.low, uncertain.high) !== undefined;
  }

  /** Number of entries that are missing on the page, and one that shows whether others follow. */
  get #wanted(): number {
    return this.#found.isFull ? 0 : this.#size.limit + 1 - this.#found.entries.length;
  }

  /** Adds the first entries of a range, in the order of the index. */
  #add(range: KeyRange): void {
    if (this.#wanted > 0) this.#found.add(this.#select<EntryRow>(range, ''));
  }

  /**
   * Adds the first entries of a range whose index has objects with equal keys in the opposite order. Those of the last key that
   * was read are then the last ones of that key instead of the first, and are read again.
   */
  #addWithTies(range: KeyRange): void {
    const wanted = this.#wanted;
    const rows = this.#select<KeyedRow>(range, `, ${this.#key}`);
    let equal: KeyedRow[] = [];
    for (const row of rows) {
      if (equal[0] !== undefined && Buffer.compare(equal[0][3], row[3]) !== 0) {
        this.#addReversed(equal);
        equal = [];
      }
      equal.push(row);
    }
    const last = equal[0]?.[3];
    if (last === undefined || rows.length < wanted) return this.#addReversed(equal);
    const low = Buffer.from(last);
    this.#add({ ...range, low, high: keyAfter(low), isReverse: !range.isReverse });
  }

  #addReversed(rows: readonly KeyedRow[]): void {
    this.#found.add(rows.toReversed().map(([id, lastModified, data]) => [id, lastModified, data]));
  }

  #select<R extends EntryRow | KeyedRow>({ low, high, isReverse, timestamps }: KeyRange, column: string): readonly R[] {
    const data = dataOf('objects', inlineBytes(this.#wanted, this.#size.maxBytes));
    const times: readonly SqlValue[] = timestamps === undefined ? [] : [timestamps.low, timestamps.high];
    const key = this.#key;
    return this.#connection.all<R>(
      `SELECT e.id, e.last_modified, ${data.sql}${column} FROM objects e WHERE e.list = ? AND ${key} >= ? AND ${key} < ?
      ${timestamps === undefined ? '' : 'AND e.last_modified BETWEEN ? AND ?'}
      ORDER BY ${isReverse ? `${key} DESC, e.last_modified` : `${key}, e.last_modified DESC`} LIMIT ?`,
      ...data.parameters,
      this.#list,
      low,
      high,
      ...times,
      this.#wanted,
    );
  }
}
