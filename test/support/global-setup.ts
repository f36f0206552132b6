// Starts the PostgreSQL server that the test files share, unless TEST_POSTGRES_URL names one.
import type { TestProject } from 'vitest/node';
import { PostgresServer } from './postgresql-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of a database from which others can be created. */
    readonly postgresqlUrl: string;
  }
}

/** Called by vitest once before all tests; what it returns is called after them. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined) {
    project.provide('postgresqlUrl', given);
    return undefined;
  }
  const server = await PostgresServer.create();
  project.provide('postgresqlUrl', server.url('postgres'));
  return () => server.remove();
}
