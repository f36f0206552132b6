// Finds one page of a list as planned. An index delivers pages sorted by timestamp or id. For any other order the sort
// keys of all candidates are compared, and only the rows of the page are fetched.
import { largeTextChars, parseStoredInSteps } from '../../base/json-steps.ts';
import { parseStoredJson, type JsonValue } from '../../base/json.ts';
import { cutPage, type EntryPage } from '../../core/objects/page-text.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import type { Filter, PagePosition, PageQuery, SortKey } from '../../core/query/ast.ts';
import { compareValues } from '../../core/query/compare.ts';
import { isIdField, isTimestampField, isUniqueField, readField } from '../../core/query/fields.ts';
import { comparePlaces, isEncoded, placeInSteps, type Place } from '../../core/query/first-entries.ts';
import type { IdBound } from '../../core/query/id-range.ts';
import { amongCandidates, isWholePage } from '../../core/index/find-entries.ts';
import { planPage, type PagePlan } from '../../core/query/plan-page.ts';
import { selectAmong } from '../../core/query/select-among.ts';
import { positionOf } from '../../core/query/sort.ts';
import type { Connection, SqlValue } from './connection.ts';
import { compileAttributeTerm, isOwnField, jsonPathOf } from './filter-sql.ts';
import { dataOf, FoundEntries, inlineBytes, type EntryRow } from './found-entries.ts';
import { TopN } from '../../base/top-n.ts';
import { searchKeys } from './key-columns.ts';
import type { ListRow } from './lists.ts';
import {
  compileSelection,
  fromWhere,
  maxRows,
  narrowSelection,
  sqlOrder,
  walkFromBothEnds,
  walkWindows,
  windowRows,
  type CompiledSelection,
  type Window,
} from './selection.ts';
import type { Steps } from '../../base/steps.ts';
import { selectOrdered } from './ordered-page.ts';
import { isTurnFull } from './turn-reads.ts';

/** Maximum number of sort keys that SQLite extracts; with more, the whole object is read. */
const maxPaths = 3;

/** Returns one page of the list, by declared indexes where they help. */
export function* selectPage(connection: Connection, list: ListRow, query: PageQuery): Steps<EntryPage> {
  return selectOrdered(connection, list, query) ?? (yield* selectUnordered(connection, list, query));
}

/** Returns a page that no declared index delivers in its order. */
export function* selectUnordered(connection: Connection, list: ListRow, query: PageQuery): Steps<EntryPage> {
  const candidates = yield* searchKeys(connection, list, query);
  if (candidates !== undefined) {
    const plan = planQuery(amongCandidates(query, candidates));
    const { objects } = candidates;
    const page = yield* objects === undefined ? selectPlanned(connection, list, plan) : selectAmong(objects, plan);
    if (isWholePage(query, page, candidates)) return page;
  }
  return yield* selectPlanned(connection, list, planQuery(query));
}

/** Plans a page. The index by id serves pages without further filters: a scan of it could not pause. */
export function planQuery(query: PageQuery): PagePlan {
  return planPage(query, 'unfiltered');
}

function* selectPlanned(connection: Connection, list: ListRow, plan: PagePlan): Steps<EntryPage> {
  const selection = compileSelection(list, plan);
  if (selection.tables.length === 0) return { entries: [], more: false };
  if (isTurnFull()) yield;
  switch (plan.by) {
    case 'time':
      return cutPage(yield* selectByTimestamp(connection, selection, plan), plan);
    case 'id':
      return cutPage(selectById(connection, selection, plan), plan);
    case 'lookup':
    case 'scan':
      return cutPage(
        plan.by === 'lookup' && plan.ids.length <= plan.limit && isUniqueField(plan.sort[0]?.field)
          ? yield* selectNamed(connection, selection, plan)
          : yield* selectByPosition(connection, selection, plan),
        plan,
      );
  }
}

/** Reads named entries that all fit on the page, in the order of their timestamps or ids. */
function* selectNamed(
  connection: Connection,
  selection: CompiledSelection,
  { sort, after, limit, maxBytes }: PagePlan,
): Steps<readonly StoredEntry[]> {
  const inline = inlineBytes(limit, maxBytes);
  const rows: EntryRow[] = [];
  yield* walkWindows(connection, selection, 'descending', (window) => {
    rows.push(...selectRows(connection, selection, window, { order: '2', limit: maxRows, inline }));
    return false;
  });
  const [first] = sort;
  const column = isIdField(first?.field) ? 0 : 1;
  const sign = first?.direction === 'descending' ? -1 : 1;
  const order = (a: EntryRow, b: EntryRow): number => sign * compareValues(a[column], b[column]);
  const start = after?.[0];
  const wanted = after === undefined ? rows : rows.filter((row) => sign * compareValues(row[column], start) > 0);
  const found = new FoundEntries(connection, maxBytes);
  found.add(wanted.toSorted(order));
  return found.entries;
}

/** Reads in the order of the index by timestamp. */
function* selectByTimestamp(
  connection: Connection,
  selection: CompiledSelection,
  { direction, limit, maxBytes }: PagePlan & { readonly by: 'time' },
): Steps<readonly StoredEntry[]> {
  const found = new FoundEntries(connection, maxBytes);
  const visit = (window: Window): boolean => {
    const wanted = limit + 1 - found.entries.length;
    const order = `2 ${sqlOrder(direction)}`;
    found.add(
      selectRows(connection, selection, window, { order, limit: wanted, inline: inlineBytes(wanted, maxBytes) }),
    );
    return found.isFull || found.entries.length > limit;
  };
  const unfiltered = selection.tables.every(({ condition }) => condition === undefined);
  if (unfiltered && limit <= windowRows) visit(selection);
  else yield* walkWindows(connection, selection, direction, visit, { mayEndSoon: limit <= windowRows });
  return found.entries;
}

/** Reads in the order of the index by id. */
function selectById(
  connection: Connection,
  selection: CompiledSelection,
  { direction, ids, limit, maxBytes }: PagePlan & { readonly by: 'id' },
): readonly StoredEntry[] {
  const bounds = [ids.low, ids.high].filter((bound) => bound !== undefined);
  const conditions = bounds.map(({ operator }) => ` AND e.id ${comparisons[operator]} ?`).join('');
  const own: SqlValue[] = [selection.list, ...bounds.map(({ value }) => value)];
  const parameters: SqlValue[] = [];
  const arms = selection.tables.map(({ table }) => {
    const data = dataOf(table, inlineBytes(limit + 1, maxBytes));
    parameters.push(...data.parameters, ...own);
    return `SELECT e.id, e.last_modified, ${data.sql} FROM ${table} e WHERE e.list = ?${conditions}`;
  });
  const sql = `${arms.join(' UNION ALL ')} ORDER BY 1 ${sqlOrder(direction)} LIMIT ?`;
  const found = new FoundEntries(connection, maxBytes);
  found.add(connection.all<EntryRow>(sql, ...parameters, limit + 1));
  return found.entries;
}

const comparisons: Readonly<Record<IdBound['operator'], string>> = { gt: '>', min: '>=', lt: '<', max: '<=' };

/** Returns the first rows of a window: live objects and tombstones, merged from their indexes. */
function selectRows(
  connection: Connection,
  selection: CompiledSelection,
  window: Window,
  { order, limit, inline }: { readonly order: string; readonly limit: number; readonly inline: number | undefined },
): readonly EntryRow[] {
  const parameters: SqlValue[] = [];
  const arms = selection.tables.map((source) => {
    const from = fromWhere(selection, source, window);
    const data = dataOf(source.table, inline);
    parameters.push(...data.parameters, ...from.parameters);
    return `SELECT e.id, e.last_modified, ${data.sql} ${from.sql}`;
  });
  const sql = `${arms.join(' UNION ALL ')} ORDER BY ${order} LIMIT ?`;
  return connection.allMatching<EntryRow>(selection.filters, sql, [...parameters, limit]);
}

/** A candidate for the page. The text of a live object is read when the object is known to be on the page. */
interface Candidate {
  readonly place: Place;
  readonly id: string;
  readonly lastModified: number;
  /** Row number of the live object; absent for a tombstone. */
  readonly object: number | undefined;
  /** Length of the texts that the place was read from, in characters. */
  readonly chars: number;
}

/** The last columns are the texts of sort keys; `tooLong` for one that has to be read by itself. */
type CandidateRow = [
  id: string,
  lastModified: number,
  object: number | null,
  ...texts: (string | typeof tooLong | null)[],
];

/** Reads in any order, by comparing the sort keys of all candidates as the query evaluator does. */
function* selectByPosition(
  connection: Connection,
  selection: CompiledSelection,
  { sort, after, limit, maxBytes }: PagePlan,
): Steps<readonly StoredEntry[]> {
  const first = new TopN<Candidate>(limit + 1, (a, b) => comparePlaces(a.place, b.place, sort), {
    weigh: ({ chars }) => chars,
    max: maxBytes ?? Infinity,
  });
  const keys = new SortKeys(connection, sort);
  yield* walkFromBothEnds(connection, selection, function* (window) {
    // SQLite refuses most rows, which takes far less time than comparing them here.
    const bound = boundOf(sort, first.worst?.place);
    const bounded = bound === undefined ? selection : narrowSelection(selection, bound);
    for (const source of bounded.tables) {
      const isLive = source.table === 'objects';
      const from = fromWhere(bounded, source, window);
      const columns = isLive ? ['e.object', ...keys.columns] : ['NULL'];
      const rows = connection.allMatching<CandidateRow>(
        bounded.filters,
        `SELECT e.id, e.last_modified, ${columns.join(', ')} ${from.sql}`,
        isLive ? [...keys.parameters, ...from.parameters] : from.parameters,
      );
      for (const row of rows) {
        const candidate = keys.read(row) ?? (yield* keys.readLong(row));
        if (after !== undefined && comparePlaces(candidate.place, after, sort) <= 0) continue;
        const rest = first.add(candidate);
        if (rest !== undefined) yield* rest;
      }
    }
  });
  return fetchEntries(connection, yield* first.finish(), maxBytes);
}

/** Returns a filter that all rows before the position match; `undefined` when SQLite cannot test one by itself. */
function boundOf([first]: readonly SortKey[], position: Place | undefined): Filter | undefined {
  if (first === undefined || position === undefined || isEncoded(position) || isOwnField(first.field)) return undefined;
  const { field, direction } = first;
  const [value] = position;
  if (value === undefined) return direction === 'ascending' ? undefined : { field, operator: 'has', present: false };
  const bound: Filter = { field, operator: direction === 'ascending' ? 'max' : 'min', value };
  return compileAttributeTerm(bound) === undefined ? undefined : bound;
}

/** Texts of objects from this length on, in bytes, are read one by one, and their sort keys in steps. */
const largeBytes = largeTextChars;
/** Stands for a text that is too long to be read with others. */
const tooLong = 0;
/** Length of a text that is read at once, in characters. */
const shortText = 100;

/** Reads sort keys from rows: extracted by SQLite, or from `data` when its paths do not reach them. */
class SortKeys {
  readonly #connection: Connection;
  readonly #sort: readonly SortKey[];
  readonly #byPath: boolean;
  readonly #expressions: readonly string[];
  readonly parameters: readonly SqlValue[];

  constructor(connection: Connection, sort: readonly SortKey[]) {
    this.#connection = connection;
    this.#sort = sort;
    const ofAttributes = sort.filter(({ field }) => !isOwnField(field));
    const paths = ofAttributes.map(({ field }) => jsonPathOf(field));
    // Limited, since each number of keys makes a statement of its own.
    this.#byPath = paths.length <= maxPaths && paths.every((path) => path !== undefined);
    // `->` returns the JSON text of the value, with all digits of a number.
    this.#expressions = this.#byPath ? paths.map(() => 'e.data -> ?') : ['e.data'];
    this.parameters = this.#byPath ? paths.filter((path) => path !== undefined) : [];
  }

  /** The columns of `CandidateRow` after the first three. */
  get columns(): readonly string[] {
    return this.#expressions.map((text) => `iif(octet_length(e.data) < ${largeBytes}, ${text}, ${tooLong})`);
  }

  /** Returns the candidate of a row; `undefined` for one with long texts. */
  read([id, lastModified, object, ...texts]: CandidateRow): Candidate | undefined {
    let chars = 0;
    for (const text of texts) {
      if (text === tooLong || (text !== null && text.length > shortText)) return undefined;
      chars += text?.length ?? 0;
    }
    if (object === null) {
      const place = positionOf({ id, lastModified, deleted: true }, this.#sort);
      return { id, lastModified, object: undefined, place, chars };
    }
    const values = texts.map((text) => (typeof text === 'string' ? parseStoredJson(text) : undefined));
    return { id, lastModified, object, place: this.#positionOf(id, lastModified, values), chars };
  }

  /** Returns the candidate of a row with long texts. */
  *readLong([id, lastModified, object, ...found]: CandidateRow): Steps<Candidate> {
    const sql = `SELECT ${this.#expressions.join(', ')} FROM objects e WHERE e.object = ?`;
    const texts = found.includes(tooLong)
      ? this.#connection.get<(string | null)[]>(sql, ...this.parameters, object)!
      : found;
    const values: (JsonValue | undefined)[] = [];
    let chars = 0;
    for (const text of texts) {
      values.push(typeof text === 'string' ? yield* parseStoredInSteps(text) : undefined);
      if (typeof text === 'string') chars += text.length;
    }
    const place = yield* placeInSteps(this.#positionOf(id, lastModified, values), this.#sort);
    return { id, lastModified, object: object ?? undefined, place, chars };
  }

  /** @param values the values of the attributes among the sort keys, or all attributes */
  #positionOf(id: string, lastModified: number, values: readonly (JsonValue | undefined)[]): PagePosition {
    let next = 0;
    return this.#sort.map(({ field }) => {
      if (isTimestampField(field)) return lastModified;
      if (isIdField(field)) return id;
      if (isOwnField(field)) return undefined;
      return this.#byPath ? values[next++] : readField(values[0]!, field);
    });
  }
}

function fetchEntries(
  connection: Connection,
  candidates: readonly Candidate[],
  maxBytes: number | undefined,
): readonly StoredEntry[] {
  const inline = inlineBytes(candidates.length, maxBytes);
  const data = dataOf('objects', inline);
  const numbers = JSON.stringify(candidates.flatMap(({ object }) => object ?? []));
  const texts = new Map(
    connection.all<[number, string | number]>(
      `SELECT e.object, ${data.sql} FROM json_each(?) j CROSS JOIN objects e WHERE e.object = j.value`,
      ...data.parameters,
      numbers,
    ),
  );
  const found = new FoundEntries(connection, maxBytes);
  found.add(
    candidates.map(({ id, lastModified, object }) => [
      id,
      lastModified,
      object === undefined ? null : texts.get(object)!,
    ]),
  );
  return found.entries;
}
