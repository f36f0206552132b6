// Starts the PostgreSQL server that the test files share, unless TEST_POSTGRES_URL names one, and makes the database that
// others are copied from.
import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { databaseUrl, migrateDatabase, runSql } from './postgresql-setup.ts';
import { PostgresServer } from './postgresql-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of a database from which others can be created. */
    readonly postgresqlUrl: string;
    /** Name of a database with empty tables. */
    readonly postgresqlTemplate: string;
  }
}

/** Called by vitest once before all tests; what it returns is called after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_POSTGRES_URL'];
  const server = given === undefined ? await PostgresServer.create() : undefined;
  const url = given ?? server!.url('postgres');
  const template = `test_template_${randomBytes(8).toString('hex')}`;
  await runSql(url, `CREATE DATABASE ${template}`);
  await migrateDatabase(databaseUrl(url, template));
  project.provide('postgresqlUrl', url);
  project.provide('postgresqlTemplate', template);
  return async () => {
    if (server === undefined) await runSql(url, `DROP DATABASE ${template}`);
    else await server.remove();
  };
}
