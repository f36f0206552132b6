// Batches queries of committed state from many requests. Queries that arrive in one turn of the event loop, or while others
// are under way, share a statement, and equal ones are sent once. A statement is composed when it is sent, so each result
// is newer than its query.
import type { ConnectionPool } from './connection-pool.ts';
import type { Row } from './connection.ts';
import { isRefusal, type BackendName } from './errors.ts';
import { answersOf, arraysOf, type BatchableQuery, type BatchValue } from './batchable-query.ts';

/** Number of simultaneous statements of one query: the server runs one while the results of another are processed. */
const maxLanes = 2;
/** Maximum time that a query waits for a statement under way. */
const patienceMs = 10;

interface Asked {
  readonly values: readonly BatchValue[];
  readonly answer: Promise<readonly Row[]>;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The batchers of all queries to one database. */
export class QueryBatchers {
  readonly #pool: ConnectionPool;
  readonly #batchers = new Map<BatchableQuery, QueryBatcher>();
  /** Batchers with a statement to send at the end of this turn of the event loop. */
  #starting: QueryBatcher[] = [];

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** Returns the rows of the query. */
  ask(backend: BackendName, query: BatchableQuery, values: readonly BatchValue[]): Promise<readonly Row[]> {
    let batcher = this.#batchers.get(query);
    if (batcher === undefined) {
      batcher = new QueryBatcher(this.#pool, backend, query, (ready) => this.#startLater(ready));
      this.#batchers.set(query, batcher);
    }
    return batcher.ask(values);
  }

  /** Sends the queries of one turn together, so that they share a connection and a packet. */
  #startLater(batcher: QueryBatcher): void {
    this.#starting.push(batcher);
    if (this.#starting.length > 1) return;
    setImmediate(() => {
      const starting = this.#starting;
      this.#starting = [];
      for (const each of starting) each.start();
    });
  }
}

/** Batches one query. */
class QueryBatcher {
  readonly #pool: ConnectionPool;
  readonly #backend: BackendName;
  readonly #query: BatchableQuery;
  readonly #startLater: (batcher: QueryBatcher) => void;
  /** By their values. */
  #waiting = new Map<string, Asked>();
  #lanes = 0;
  /** Number of value lists in lanes. */
  #underWay = 0;
  #isStarting = false;

  constructor(
    pool: ConnectionPool,
    backend: BackendName,
    query: BatchableQuery,
    startLater: (batcher: QueryBatcher) => void,
  ) {
    this.#pool = pool;
    this.#backend = backend;
    this.#query = query;
    this.#startLater = startLater;
  }

  ask(values: readonly BatchValue[]): Promise<readonly Row[]> {
    const key = keyOf(values);
    const known = this.#waiting.get(key);
    if (known !== undefined) return known.answer;
    const asked = newAsked(values);
    this.#waiting.set(key, asked);
    this.#startIfPossible();
    return asked.answer;
  }

  /** Sends the waiting queries. */
  start(): void {
    this.#isStarting = false;
    while (this.#mayStart()) void this.#runLane(this.#takeGroup());
  }

  #startIfPossible(): void {
    if (this.#isStarting || !this.#mayStart()) return;
    this.#isStarting = true;
    this.#startLater(this);
  }

  /** A statement costs as much as several queries, so a second one is sent only with at least half as many as the first. */
  #mayStart(): boolean {
    const { size } = this.#waiting;
    if (size === 0) return false;
    return (this.#lanes < maxLanes && size * 2 >= this.#underWay) || size >= this.#query.maxTogether;
  }

  #takeGroup(): readonly Asked[] {
    const { maxTogether } = this.#query;
    if (this.#waiting.size <= maxTogether) {
      const all = [...this.#waiting.values()];
      this.#waiting = new Map();
      return all;
    }
    const group: Asked[] = [];
    for (const [key, asked] of this.#waiting) {
      if (group.length === maxTogether) break;
      group.push(asked);
      this.#waiting.delete(key);
    }
    return group;
  }

  /** Sends a statement and settles its queries. Never fails. */
  async #runLane(group: readonly Asked[]): Promise<void> {
    this.#lanes++;
    this.#underWay += group.length;
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#lanes--;
      this.#underWay -= group.length;
      this.#startIfPossible();
    };
    const timer = setTimeout(close, patienceMs);
    try {
      const answers = await this.#run(group);
      for (const [index, { resolve }] of group.entries()) resolve(answers[index]!);
    } catch (error) {
      await this.#settleAfter(group, error);
    } finally {
      clearTimeout(timer);
      close();
    }
  }

  async #run(group: readonly Asked[]): Promise<readonly (readonly Row[])[]> {
    const { alone, together } = this.#query;
    if (group.length === 1) return [(await this.#pool.run(this.#backend, alone, group[0]!.values)).rows];
    const { rows } = await this.#pool.run(this.#backend, together, arraysOf(group.map(({ values }) => values)));
    return answersOf(rows, group.length);
  }

  /** When the server refuses a statement, runs each query by itself, so that none fails because of another. */
  async #settleAfter(group: readonly Asked[], error: unknown): Promise<void> {
    if (group.length === 1 || !isRefusal(originOf(error))) {
      for (const { reject } of group) reject(error);
      return;
    }
    await Promise.all(
      group.map(async (asked) => {
        try {
          asked.resolve((await this.#run([asked]))[0]!);
        } catch (own) {
          asked.reject(own);
        }
      }),
    );
  }
}

/** Returns the driver's error behind a translated one, or the error itself. */
function originOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

/** Returns a key. Texts may contain any character, so each is preceded by its length. */
function keyOf(values: readonly BatchValue[]): string {
  let key = '';
  for (const value of values) key += typeof value === 'string' ? `${value.length}:${value}` : `${value};`;
  return key;
}

function newAsked(values: readonly BatchValue[]): Asked {
  let resolve!: Asked['resolve'];
  let reject!: Asked['reject'];
  const answer = new Promise<readonly Row[]>((onAnswer, onFailure) => {
    resolve = onAnswer;
    reject = onFailure;
  });
  return { values, answer, resolve, reject };
}
