// What differs between servers and databases and changes the statements: learned once, before the first query that
// depends on it.
import type { Result, SqlValue, Statement } from './connection.ts';

export interface Dialect {
  /** Whether jsonb orders texts by code point: the language of the database is none. */
  readonly ordersByCodePoint: boolean;
  /** Whether text can be put in lower case as JavaScript does it, by the rules of Unicode. */
  readonly hasIcu: boolean;
}

const ask: Statement = {
  // The columns of pg_database differ between versions, and JSON does not mind.
  text: `SELECT to_jsonb(d) ->> 'datlocprovider', d.datcollate, to_jsonb(d) ->> 'datlocale',
      EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')
    FROM pg_database d WHERE d.datname = current_database()`,
};

/** Asks the server. */
export async function readDialect(
  run: (statement: Statement, values: readonly SqlValue[]) => Promise<Result>,
): Promise<Dialect> {
  const [provider, collation, locale, hasIcu] = (await run(ask, [])).rows[0] ?? [];
  const ofLibrary = (provider ?? 'c') === 'c' && (collation === 'C' || collation === 'POSIX');
  const builtIn = provider === 'b' && (locale === 'C' || locale === 'C.UTF-8' || locale === 'PG_UNICODE_FAST');
  return { ordersByCodePoint: ofLibrary || builtIn, hasIcu: hasIcu === 't' };
}
