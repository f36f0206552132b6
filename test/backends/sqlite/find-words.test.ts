// How searches for words ask SQLite: what one statement looks at is limited in long lists, however many words are searched for.
import { describe, expect, it } from 'vitest';
import { Connection, type SqlValue } from '../../../src/backends/sqlite/connection.ts';
import { countIds, findIds } from '../../../src/backends/sqlite/find-words.ts';
import { findList } from '../../../src/backends/sqlite/lists.ts';
import type { Steps } from '../../../src/base/steps.ts';
import { wordSlot } from '../../../src/core/index/definition.ts';
import { QueryBudget } from '../../../src/core/query/budget.ts';
import { wordsOf, type Word } from '../../../src/core/text/words.ts';
import { openTestDatabase, records } from './temporary.ts';

const objects = 2000;
const common = Array.from({ length: 100 }, (_, n) => `common${n}`);

/** Remembers what the index of words was asked for, and how many rows it returned. */
class WatchedConnection extends Connection {
  readonly asked: { readonly query: string; readonly rows: number }[] = [];

  override all<Row extends readonly SqlValue[]>(text: string, ...parameters: readonly SqlValue[]): readonly Row[] {
    const rows = super.all<Row>(text, ...parameters);
    if (text.includes('MATCH')) this.asked.push({ query: String(parameters[0]), rows: rows.length });
    return rows;
  }
}

/** Runs the steps; returns the result and the number of pauses. */
function run<T>(steps: Steps<T>): { readonly result: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const step = steps.next();
    if (step.done === true) return { result: step.value, pauses };
  }
}

async function open(): Promise<{ connection: WatchedConnection; list: NonNullable<ReturnType<typeof findList>> }> {
  const test = await openTestDatabase();
  await test.unit(async (storage) => {
    for (let n = 0; n < objects; n++) {
      const keys: (Buffer | undefined)[] = [];
      keys[wordSlot] = Buffer.from([...common, n % 2 === 0 ? 'even' : 'odd', `w${n}`, `commonest${n}`].join(' '));
      await storage.create(records, `r${n}`, '{}', undefined, { keys });
    }
  });
  const connection = new WatchedConnection({ path: test.path, synchronous: 'OFF' });
  return { connection, list: findList(connection, records)! };
}

describe('searches for words on SQLite', () => {
  const few = { words: wordsOf('even odd'), prefixes: [] as readonly Word[] };
  const many = { words: wordsOf([...common, 'odd', 'even'].join(' ')), prefixes: [] as readonly Word[] };
  const prefixes = { words: [] as readonly Word[], prefixes: wordsOf(`commonest od ${common.slice(0, 20).join(' ')}`) };

  it('look for a few words in one statement, and for many one by one, with pauses', async () => {
    const { connection, list } = await open();
    expect(run(findIds(connection, list, few, 10))).toEqual({ result: { ids: [], more: false }, pauses: 0 });
    expect(connection.asked.map(({ query }) => query.split(' AND ').length)).toEqual([2]);

    connection.asked.length = 0;
    const found = run(findIds(connection, list, many, 10));
    expect(found.result).toEqual({ ids: [], more: false });
    expect(found.pauses).toBeGreaterThan(10);
    expect(new Set(connection.asked.map(({ query }) => query.split(' AND ').length))).toEqual(new Set([1]));
    expect(Math.max(...connection.asked.map(({ rows }) => rows))).toBeLessThanOrEqual(100);
    connection.close();
  });

  it('look for rare words of a long list in one statement, after they were counted', async () => {
    const { connection, list } = await open();
    const long = { ...list, live: 1_000_000 };
    const search = { words: wordsOf('odd common7 common8'), prefixes: [] };
    const { result, pauses } = run(findIds(connection, long, search, objects));
    expect(result.ids).toHaveLength(objects / 2);
    expect(new Set(connection.asked.map(({ query }) => query.split(' AND ').length))).toEqual(new Set([3]));
    expect(pauses).toBeGreaterThanOrEqual(search.words.length);
    expect(run(countIds(connection, long, search)).result).toBe(objects / 2);
    connection.close();
  });

  it('look for the rarest word of a long list, when there are prefixes too', async () => {
    const { connection, list } = await open();
    const search = { words: wordsOf('common7 w31'), prefixes: wordsOf('od') };
    const { result } = run(findIds(connection, { ...list, live: 1_000_000 }, search, 10));
    expect(result).toEqual({ ids: ['r31'], more: false });
    expect(connection.asked.map(({ query, rows }) => [query.includes('w31'), rows])).toEqual([[true, 1]]);
    connection.close();
  });

  it('go through the words with a prefix in a long list, and find each object once', async () => {
    const { connection, list } = await open();
    const { result, pauses } = run(countIds(connection, list, prefixes));
    expect(result).toBe(objects / 2);
    expect(pauses).toBeGreaterThan(10);
    expect(connection.asked.some(({ query }) => query.includes('*'))).toBe(false);
    connection.close();
  });

  it.each([
    ['many words', many],
    ['prefixes', prefixes],
  ])('are limited by the work of the query: %s', async (_, search) => {
    const { connection, list } = await open();
    const limited = { ...search, budget: new QueryBudget(50) };
    expect(() => run(countIds(connection, list, limited))).toThrow(/too much work/);
    connection.close();
  });
});
