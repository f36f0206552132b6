// Searches for words, in an index of SQLite that triggers maintain from the column `words` of objects. A statement with several
// words looks at the objects of all of them before it returns a row, and a prefix makes it collect all of its objects. Others
// would wait for that when these are many. Then the index finds the rarest word, and the words of its objects are tested here.
import type { Steps } from '../../base/steps.ts';
import type { QueryBudget } from '../../core/query/budget.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import { hasAll, longestFirst, partsOf, workOfObject } from '../../core/text/word-tests.ts';
import type { Connection } from './connection.ts';
import type { ListRow } from './lists.ts';

/** Objects times words that one statement may look at: about 20 milliseconds. */
const lookedAtOnce = 200_000;
/** Number of words up to which the objects of each one are counted. */
const maxCounted = 8;
/** A prefix takes as long as so many words. */
const wordsOfPrefix = 10;

/** Number of objects read in one statement, and of those read with their words, which may be long. */
const rowsPerStep = 1000;
const testedPerStep = 100;

/** Returns the ids of the objects with the words, and whether there are more than the limit. */
export function* findIds(
  connection: Connection,
  list: ListRow,
  search: WordSearch,
  limit: number,
): Steps<{ readonly ids: readonly string[]; readonly more: boolean }> {
  const ids: string[] = [];
  const plan = yield* planSearch(connection, list, search);
  yield* visitObjects(connection, list, plan, limit + 1, (id) => ids.push(id) > limit);
  return { ids: ids.slice(0, limit), more: ids.length > limit };
}

/** Returns the number of objects with the words. */
export function* countIds(connection: Connection, list: ListRow, search: WordSearch): Steps<number> {
  const plan = yield* planSearch(connection, list, search);
  if (plan.isAtOnce) {
    const sql = 'SELECT count(*) FROM object_words WHERE object_words MATCH ?';
    return connection.get<[number]>(sql, queryOf(list, search))?.[0] ?? 0;
  }
  let count = 0;
  yield* visitObjects(connection, list, plan, Infinity, () => {
    count++;
    return false;
  });
  return count;
}

interface SearchPlan extends WordSearch {
  /** Whether one statement looks for everything. Otherwise it looks for the first word. */
  readonly isAtOnce: boolean;
}

/** Plans a search, with its words and prefixes in the order in which they are looked for. Counts words in long lists. */
function* planSearch(connection: Connection, list: ListRow, search: WordSearch): Steps<SearchPlan> {
  const { words, prefixes } = search;
  const isOneWord = words.length === 1 && prefixes.length === 0;
  const isShort = list.live * (words.length + prefixes.length * wordsOfPrefix) <= lookedAtOnce;
  if (isOneWord || isShort) return { ...search, isAtOnce: true };
  // Long words are rare.
  const byLength = { ...search, words: words.toSorted(longestFirst), prefixes: prefixes.toSorted(longestFirst) };
  if (words.length > maxCounted) return { ...byLength, isAtOnce: false };
  // Each word is counted up to its part of what a statement may look at.
  const most = Math.ceil(lookedAtOnce / words.length);
  const counts = new Map<string, number>();
  for (const word of words) {
    const sql = 'SELECT count(*) FROM (SELECT 1 FROM object_words WHERE object_words MATCH ? LIMIT ?)';
    counts.set(word, connection.get<[number]>(sql, queryOf(list, { words: [word], prefixes: [] }), most)?.[0] ?? 0);
    yield;
  }
  const isAtOnce = prefixes.length === 0 && [...counts.values()].every((count) => count < most);
  const rarestFirst = byLength.words.toSorted((a, b) => counts.get(a)! - counts.get(b)!);
  return { ...byLength, words: rarestFirst, isAtOnce };
}

/** Visits the id of an object; returns whether the search ends with it. */
type Visit = (id: string) => boolean;

/** @param wanted number of objects after which the search ends */
function* visitObjects(
  connection: Connection,
  list: ListRow,
  search: SearchPlan,
  wanted: number,
  visit: Visit,
): Steps<void> {
  const rows = new Rows(connection, search.budget, visit);
  const atOnce = Math.min(rowsPerStep, wanted);
  if (search.isAtOnce) {
    // Each further statement would collect the objects of a prefix again.
    yield* rows.visit(queryOf(list, search), search.prefixes.length > 0 ? wanted : atOnce);
    return;
  }
  const { words, prefixes } = search;
  const [word] = words;
  if (word !== undefined) {
    const parts = partsOf(words.slice(1), prefixes);
    const test = { workOfChar: parts.length, passes: (own: string) => hasAll(own, parts) };
    yield* rows.visit(queryOf(list, { words: [word], prefixes: [] }), atOnce, parts.length > 0 ? test : undefined);
    return;
  }
  const [prefix = '', ...others] = prefixes;
  const parts = partsOf([], others);
  for (const found of wordsWith(connection, list, prefix)) {
    if (rows.noteWord()) yield;
    // An object is visited with the first of its words that have the prefix.
    const passes = (own: string): boolean => hasAll(own, parts) && found === firstWith(own, prefix);
    const test = { workOfChar: parts.length + workOfSplitting, passes };
    if (yield* rows.visit(queryOf(list, { words: [found], prefixes: [] }), atOnce, test)) return;
  }
}

/** A test of the words of an object, which spaces separate and enclose. */
interface Test {
  /** Work on each character (`QueryBudget`). */
  readonly workOfChar: number;
  readonly passes: (own: string) => boolean;
}

/** Returns the first one, in their order as texts, of the words with the prefix. */
function firstWith(own: string, prefix: string): string | undefined {
  let first: string | undefined;
  for (const word of own.split(' ')) {
    if (word.startsWith(prefix) && (first === undefined || word < first)) first = word;
  }
  return first;
}

/** Reads the different words with a prefix. */
function* wordsWith(connection: Connection, { list }: ListRow, prefix: string): Iterable<string> {
  const start = `${list}x`;
  let from = start + prefix;
  for (;;) {
    const term = connection.get<[string]>('SELECT term FROM object_terms WHERE term >= ? LIMIT 1', from)?.[0];
    if (term?.startsWith(start + prefix) !== true) return;
    yield term.slice(start.length);
    // No character of a word comes before this one.
    from = `${term}!`;
  }
}

/** Work of finding a word with a prefix, and of dividing a character of the words of an object. */
const workOfWord = 100_000;
const workOfSplitting = 10;
/** Work between two pauses: a few milliseconds. */
const workOfStep = 5_000_000;

/** Visits objects with certain words, in steps. */
class Rows {
  readonly #connection: Connection;
  readonly #budget: QueryBudget | undefined;
  readonly #visit: Visit;
  /** Work since the last pause. */
  #work = 0;

  constructor(connection: Connection, budget: QueryBudget | undefined, visit: Visit) {
    this.#connection = connection;
    this.#budget = budget;
    this.#visit = visit;
  }

  /**
   * Visits the objects that a query of the index finds and that pass the test. Returns whether the search has ended.
   *
   * @param atOnce number of objects that one statement reads
   */
  *visit(query: string, atOnce: number, test?: Test): Steps<boolean> {
    const limit = test === undefined ? atOnce : Math.min(testedPerStep, atOnce);
    let last = -1;
    for (;;) {
      const rows = this.#connection.all<[object: number, id: string, own: string]>(
        `SELECT w.rowid, o.id, ${test === undefined ? `''` : `' ' || o.words || ' '`}
        FROM object_words w CROSS JOIN objects o
        WHERE w.object_words MATCH ? AND w.rowid > ? AND o.object = w.rowid ORDER BY w.rowid LIMIT ?`,
        query,
        last,
        limit,
      );
      for (const [object, id, own] of rows) {
        last = object;
        const passes = test?.passes(own) !== false;
        if (this.#note(workOfObject + own.length * (test?.workOfChar ?? 0))) yield;
        if (passes && this.#visit(id)) return true;
      }
      if (rows.length < limit) return false;
    }
  }

  /** Notes that a word was found; returns whether the step should end. */
  noteWord(): boolean {
    return this.#note(workOfWord);
  }

  #note(work: number): boolean {
    this.#budget?.spend(work);
    this.#work += work;
    if (this.#work < workOfStep) return false;
    this.#work = 0;
    return true;
  }
}

interface Terms {
  readonly words: readonly string[];
  readonly prefixes: readonly string[];
}

/** Returns the query in the language of SQLite. Words have no quotes. */
function queryOf({ list }: ListRow, { words, prefixes }: Terms): string {
  return [...words.map((word) => `"${list}x${word}"`), ...prefixes.map((prefix) => `"${list}x${prefix}"*`)].join(
    ' AND ',
  );
}
