// Differences between servers and databases that change the statements. They are read once, before the first query that
// depends on them.
import type { Result, SqlValue, Statement } from './connection.ts';

export interface Dialect {
  /** Whether jsonb orders texts by code point, because the database has no language. */
  readonly ordersByCodePoint: boolean;
  /** Whether the server can convert text to lower case by the rules of Unicode, as JavaScript does. */
  readonly hasIcu: boolean;
}

const ask: Statement = {
  // The columns of pg_database differ between versions. As keys of JSON, missing ones are NULL.
  text: `SELECT to_jsonb(d) ->> 'datlocprovider', d.datcollate, to_jsonb(d) ->> 'datlocale',
      EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')
    FROM pg_database d WHERE d.datname = current_database()`,
};

/** Reads the dialect from the server. */
export async function readDialect(
  run: (statement: Statement, values: readonly SqlValue[]) => Promise<Result>,
): Promise<Dialect> {
  const [provider, collation, locale, hasIcu] = (await run(ask, [])).rows[0] ?? [];
  const ofLibrary = (provider ?? 'c') === 'c' && (collation === 'C' || collation === 'POSIX');
  const builtIn = provider === 'b' && (locale === 'C' || locale === 'C.UTF-8' || locale === 'PG_UNICODE_FAST');
  return { ordersByCodePoint: ofLibrary || builtIn, hasIcu: hasIcu === 't' };
}
