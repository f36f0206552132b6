// Starts the PostgreSQL server that the test files share, unless TEST_POSTGRES_URL names one, with the database that others
// are copied from.
import { randomBytes } from 'node:crypto';
import process from 'node:process';
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
  const template = `test_${randomBytes(8).toString('hex')}`;
  await runSql(url, `CREATE DATABASE ${template}`);
  await migrateDatabase(databaseUrl(url, template));
  project.provide('postgresqlUrl', url);
  project.provide('postgresqlTemplate', template);
  return async () => {
    if (server === undefined) await dropAll(url, template);
    else await server.remove();
  };
}

/** Drops the template, and all that was made in this run: the names begin with that of the template. */
async function dropAll(url: string, template: string): Promise<void> {
  const names = await runSql(url, `SELECT datname FROM pg_database WHERE starts_with(datname, '${template}')`);
  for (const [name] of names) await runSql(url, `DROP DATABASE IF EXISTS ${String(name)} WITH (FORCE)`);
}
