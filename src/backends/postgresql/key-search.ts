// Searches in declared indexes. One statement reads all ranges of an index, and with them the clock of the list.
import { indexSlots } from '../../core/index/definition.ts';
import {
  findCandidates,
  findCount,
  inlineBytesOf,
  maxInlineBytes,
  type Candidates,
  type KeyRow,
  type KeyRows,
} from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { everyTimestamp } from '../../core/query/timestamp-range.ts';
import type { Access } from './access.ts';
import { prepared, type Row, type Statement } from './connection.ts';
import { byteText } from './key-columns.ts';
import { separator } from './page-text.ts';

/** Candidates, and the state of the list before they were read. */
export interface FoundCandidates {
  readonly candidates: Candidates;
  readonly clock: number | undefined;
  readonly horizon: number;
}

// The subselects hide the number of ranges from the server, which would prefer a plan for these very ranges to one that it
// keeps.
const rangeArrays = ['bytea', 'bytea', 'bigint', 'bigint', 'bigint']
  .map((type, index) => `(SELECT $${index + 3}::${type}[])`)
  .join(', ');
const fromRanges = `FROM coffer_lists l
  LEFT JOIN LATERAL unnest(${rangeArrays})
    WITH ORDINALITY AS b (low, high, earliest, latest, most, number) ON true`;

/** The text of an object, unless it is longer than the last parameter. */
const inlineText = 'CASE WHEN octet_length(e.data) <= $8::bigint THEN e.data END';

// Without the parent, although the list has only one: a server that assumed a short list would find it by the index by id, and
// sort it.
const inRange = (slot: number): string => `coffer_objects e
    WHERE e.list = l.list AND e.key${slot} >= b.low AND e.key${slot} < b.high
    AND e.last_modified BETWEEN b.earliest AND b.latest`;

const ofList = 'WHERE l.parent = $1::text AND l.kind = $2::text';

function readRanges(slot: number, isReverse: boolean): Statement {
  const order = isReverse ? `e.key${slot} DESC, e.last_modified` : `e.key${slot}, e.last_modified DESC`;
  return prepared(
    `read-keys-${slot}${isReverse ? '-reverse' : ''}`,
    `SELECT l.clock, l.horizon, l.live, b.number, k.* ${fromRanges}
    LEFT JOIN LATERAL (
      SELECT json_agg(k.id), string_agg(encode(k.key, 'hex'), ' '), string_agg(k.last_modified::text, ' '),
        string_agg(coalesce(k.text, ''), E'\\x1e')
      FROM (
        SELECT e.id, e.key${slot} AS key, e.last_modified, ${inlineText} AS text
        FROM ${inRange(slot)} ORDER BY ${order} LIMIT b.most
      ) k
    ) k ON true ${ofList}`,
  );
}

const slots = Array.from({ length: indexSlots }, (_, slot) => slot);
const forwards = slots.map((slot) => readRanges(slot, false));
const backwards = slots.map((slot) => readRanges(slot, true));
const counts = slots.map((slot) =>
  prepared(
    `count-keys-${slot}`,
    `SELECT sum(k.count) ${fromRanges} CROSS JOIN LATERAL (SELECT count(*) AS count FROM ${inRange(slot)}) k ${ofList}`,
  ),
);

/** Finds candidates for a page; `undefined` when a scan is needed. */
export async function searchKeys(
  access: Access,
  list: ListKey,
  query: PageQuery,
): Promise<FoundCandidates | undefined> {
  const search = findCandidates(query);
  let next = search.next();
  let state: ReadState | undefined;
  while (next.done !== true) {
    const read = await readAll(access, list, next.value, query);
    state ??= read;
    next = search.next(read);
  }
  return next.value && { candidates: next.value, clock: state?.clock, horizon: state?.horizon ?? 0 };
}

/** Counts the selected objects, or finds candidates; `undefined` when a scan is needed. */
export async function countKeys(
  access: Access,
  list: ListKey,
  selection: Selection,
): Promise<number | Candidates | undefined> {
  const search = findCount(selection);
  let next = search.next();
  while (next.done !== true) next = search.next(await readAll(access, list, next.value, noTexts));
  const found = next.value;
  if (found === undefined || !('ranges' in found)) return found;
  const [first] = found.ranges;
  if (first === undefined) return 0;
  const { rows } = await access.run(counts[first.slot]!, valuesOf(list, found.ranges));
  return Number(rows[0]?.[0] ?? 0);
}

interface ReadState {
  readonly clock: number | undefined;
  readonly horizon: number;
}

const noTexts = { maxBytes: 0 };

async function readAll(
  access: Access,
  list: ListKey,
  ranges: readonly KeyRange[],
  page: Pick<PageQuery, 'maxBytes'>,
): Promise<KeyRows & ReadState> {
  const groups = new Map<Statement, number[]>();
  for (const [number, { slot, isReverse }] of ranges.entries()) {
    const statement = (isReverse ? backwards : forwards)[slot]!;
    const numbers = groups.get(statement);
    if (numbers === undefined) groups.set(statement, [number]);
    else numbers.push(number);
  }
  // Without ranges, the statement returns the state of the list.
  if (groups.size === 0) groups.set(forwards[0]!, []);
  const rows: (readonly KeyRow[])[] = ranges.map(() => []);
  let [live, horizon, clock]: [number, number, number | undefined] = [0, 0, undefined];
  const results = await Promise.all(
    Array.from(groups, ([statement, numbers]) =>
      access.run(statement, [
        ...valuesOf(
          list,
          numbers.map((number) => ranges[number]!),
        ),
        Math.min(maxInlineBytes, ...numbers.map((number) => inlineBytesOf(page, ranges[number]!))),
      ]),
    ),
  );
  for (const [index, numbers] of [...groups.values()].entries()) {
    for (const [clockText, horizonText, liveText, number, ...found] of results[index]!.rows) {
      if (typeof clockText === 'string') clock = Math.min(clock ?? Infinity, Number(clockText));
      [horizon, live] = [Math.max(horizon, Number(horizonText)), Number(liveText)];
      const read = rowsIn(found);
      if (read !== undefined) rows[numbers[Number(number) - 1]!] = read;
    }
  }
  return { rows, live, clock, horizon };
}

/** Reads the joined columns of a range; `undefined` when nothing is in it. A row for each object would cost far more. */
function rowsIn([ids, keys, times, texts]: Row): readonly KeyRow[] | undefined {
  if (typeof ids !== 'string' || typeof keys !== 'string' || typeof times !== 'string' || typeof texts !== 'string') {
    return undefined;
  }
  const [allKeys, allTimes, allTexts] = [keys.split(' '), times.split(' '), texts.split(separator)];
  return (JSON.parse(ids) as readonly string[]).map((id, number) => {
    const text = allTexts[number]!;
    const object = text === '' ? undefined : new StoredObject(id, Number(allTimes[number]), text);
    return new FoundRow(id, allKeys[number]!, object);
  });
}

/** A row of a range, whose key is decoded when it is needed. */
class FoundRow implements KeyRow {
  readonly id: string;
  readonly object: StoredObject | undefined;
  readonly #hex: string;

  constructor(id: string, hex: string, object: StoredObject | undefined) {
    this.id = id;
    this.#hex = hex;
    this.object = object;
  }

  get key(): Buffer {
    return Buffer.from(this.#hex, 'hex');
  }
}

function valuesOf(
  { parent, kind }: ListKey,
  ranges: readonly KeyRange[],
): readonly (string | readonly (string | number | null)[])[] {
  return [
    parent,
    kind,
    ranges.map(({ low }) => byteText(low)),
    ranges.map(({ high }) => byteText(high)),
    ranges.map(({ timestamps = everyTimestamp }) => timestamps.low),
    ranges.map(({ timestamps = everyTimestamp }) => timestamps.high),
    ranges.map(({ limit }) => (Number.isFinite(limit) ? limit : null)),
  ];
}
