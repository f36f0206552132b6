// Every backend that a service can be started on: those that need nothing, and PostgreSQL on the server of the tests.
import { testBackends, startTestService, type TestBackend, type TestService } from '../../src/testing/index.ts';
import type { TestServiceOptions } from '../../src/testing/index.ts';
import { borrowDatabase } from './postgresql.ts';
import { requireRedisUrl } from './redis.ts';

/** All backends. Without a server for Redis, its tests are there all the same, and report why they do not run. */
export const allBackends: readonly TestBackend[] = [
  ...testBackends,
  ...(testBackends.some(({ name }) => name === 'redis')
    ? []
    : [{ name: 'redis', start: async () => startTestService({ settings: { storage_url: requireRedisUrl() } }) }]),
  { name: 'postgresql', start: startOnPostgresql },
];

/** Calls the function once for each backend, for example to declare a `describe` block. */
export function forEachBackend(declare: (backend: TestBackend) => void): void {
  for (const backend of allBackends) declare(backend);
}

/** Settings that put everything on one PostgreSQL database. */
export function postgresqlSettings(url: string): Readonly<Record<string, string>> {
  return databaseSettings('postgresql', url);
}

/** Settings that put everything in one place. */
export function databaseSettings(
  backend: 'postgresql' | 'redis' | 'sqlite',
  url: string,
): Readonly<Record<string, string>> {
  const kinds = ['storage', 'permission', 'cache'];
  return Object.fromEntries(
    kinds.flatMap((kind) => [
      [`${kind}_backend`, backend],
      [`${kind}_url`, url],
    ]),
  );
}

async function startOnPostgresql(options: TestServiceOptions = {}): Promise<TestService> {
  const { url, giveBack } = await borrowDatabase();
  try {
    const settings = { ...postgresqlSettings(url), ...options.settings };
    const service = await startTestService({ ...options, settings });
    return {
      ...service,
      async close() {
        await service.close();
        await giveBack();
      },
    };
  } catch (error) {
    await giveBack();
    throw error;
  }
}
