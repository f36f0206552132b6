// A list of ways to start a service, one per backend, each with an empty store, for scenarios that run on every backend.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startTestService, type TestService, type TestServiceOptions } from './service-client.ts';

export interface TestBackend {
  readonly name: string;
  /** Starts a service with an empty store, which is deleted when the service is closed. */
  start(options?: TestServiceOptions): Promise<TestService>;
}

/** The backends of this version. Those that need a server take part when the environment names one. */
export const testBackends: readonly TestBackend[] = [
  { name: 'memory', start: startTestService },
  { name: 'sqlite', start: startOnSqlite },
  ...redisBackends(process.env['TEST_REDIS_URL']),
];

/** Calls the function once for each backend, for example to declare a `describe` block. */
export function forEachBackend(declare: (backend: TestBackend) => void): void {
  for (const backend of testBackends) declare(backend);
}

/** Each service has keys of its own. They remain, because the server is one for tests. */
function redisBackends(url: string | undefined): readonly TestBackend[] {
  if (url === undefined || url === '') return [];
  return [
    {
      name: 'redis',
      async start(options = {}) {
        const own = { ...settingsFor('redis', url), redis_prefix: `test-${randomUUID()}:` };
        const settings = { ...own, ...options.settings };
        await prepareStore(settings);
        return startTestService({ ...options, settings });
      },
    },
  ];
}

async function startOnSqlite(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-test-'));
  const cleanUp = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const file = path.join(folder, 'coffer.sqlite3');
  // The data need not survive a power loss, and waiting for the disk would take most of the time.
  const settings: Record<string, string> = {
    sqlite_synchronous: 'OFF',
    ...settingsFor('sqlite', file),
    ...options.settings,
  };
  try {
    await prepareStore(settings);
    const service = await startTestService({ ...options, settings });
    return {
      ...service,
      async close() {
        await service.close();
        await cleanUp();
      },
    };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** A read-only service creates no store, so a writable service has created it before. */
async function prepareStore(settings: Readonly<Record<string, string>>): Promise<void> {
  if (settings['readonly'] === undefined) return;
  await (await startTestService({ settings: { ...settings, readonly: 'false' } })).close();
}

/** Returns settings with everything on one backend. */
function settingsFor(backend: string, url: string): Readonly<Record<string, string>> {
  const kinds = ['storage', 'permission', 'cache'];
  return Object.fromEntries(
    kinds.flatMap((kind) => [
      [`${kind}_backend`, backend],
      [`${kind}_url`, url],
    ]),
  );
}
