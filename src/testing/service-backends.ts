// The same scenarios for each backend: a list of ways to start a service, each with a fresh store of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startTestService, type TestService, type TestServiceOptions } from './service-client.ts';

export interface TestBackend {
  readonly name: string;
  /** Starts a service with an empty store, which is gone when the service is closed. */
  start(options?: TestServiceOptions): Promise<TestService>;
}

/** The backends of this version. */
export const testBackends: readonly TestBackend[] = [
  { name: 'memory', start: startTestService },
  { name: 'sqlite', start: startOnSqlite },
];

/** Calls the function once for each backend, for example to declare a `describe` block. */
export function forEachBackend(declare: (backend: TestBackend) => void): void {
  for (const backend of testBackends) declare(backend);
}

async function startOnSqlite(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-test-'));
  const cleanUp = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const file = path.join(folder, 'coffer.sqlite3');
  const kinds = ['storage', 'permission', 'cache'];
  const backends = kinds.flatMap((kind) => {
    return [[`${kind}_backend`, 'sqlite'] as const, [`${kind}_url`, file] as const];
  });
  // Nothing of this has to survive a power loss, and waiting for the disk is most of the time otherwise.
  const settings: Record<string, string> = {
    sqlite_synchronous: 'OFF',
    ...Object.fromEntries<string>(backends),
    ...options.settings,
  };
  try {
    // A read-only service does not make a store, it finds the one that a writable service has left.
    if (settings['readonly'] !== undefined)
      await (await startTestService({ settings: { ...settings, readonly: 'false' } })).close();
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
