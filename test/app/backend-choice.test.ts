// That settings alone decide where things are kept, for each kind of backend by itself.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startTestService, type TestResponse } from '../../src/testing/index.ts';

/** A place for files that is gone after the test. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The answers of a service that lives for these requests only. */
async function ask(
  settings: Readonly<Record<string, string>>,
  ...requests: readonly string[]
): Promise<TestResponse[]> {
  const service = await startTestService({ settings });
  try {
    const answers: TestResponse[] = [];
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ');
      answers.push(await service.asUser('alice').request(method, `/v1${path}`));
    }
    return answers;
  } finally {
    await service.close();
  }
}

// Proves S-019.
test('opens storage and permissions at the configured locations, together or separately.', async () => {
  const folder = temporaryFolder();
  const inFiles = (storage: string, permission: string): Record<string, string> => ({
    storage_backend: 'sqlite',
    storage_url: join(folder, storage),
    permission_backend: 'sqlite',
    permission_url: join(folder, permission),
  });
  const statuses = async (settings: Readonly<Record<string, string>>, ...requests: string[]): Promise<number[]> =>
    (await ask(settings, ...requests)).map(({ status }) => status);
  expect(await statuses(inFiles('one', 'one'), 'PUT /buckets/b', 'GET /buckets/b')).toEqual([201, 200]);
  expect(await statuses(inFiles('one', 'one'), 'GET /buckets/b')).toEqual([200]);
  // With the same objects and other permissions, no caller may read them. With another storage, no objects exist.
  expect(await statuses(inFiles('one', 'two'), 'GET /buckets/b')).toEqual([403]);
  expect(await statuses(inFiles('two', 'one'), 'GET /buckets/b')).toEqual([404]);
  expect(await statuses({}, 'GET /buckets/b', 'PUT /buckets/b')).toEqual([403, 201]);
  expect(await statuses({}, 'GET /buckets/b')).toEqual([403]);
});

test.each([
  ['sqlite', 'sqlite'],
  ['sqlite', 'memory'],
  ['memory', 'sqlite'],
] as const)(
  'writes at once with storage on %s and permissions on %s do not wait for each other.',
  async (...backends) => {
    const folder = temporaryFolder();
    const [storage, permission] = backends;
    const service = await startTestService({
      settings: {
        storage_backend: storage,
        ...(storage === 'sqlite' ? { storage_url: join(folder, 'storage') } : {}),
        permission_backend: permission,
        ...(permission === 'sqlite' ? { permission_url: join(folder, 'permission') } : {}),
      },
    });
    try {
      const alice = service.asUser('alice');
      const write = (n: number): Promise<TestResponse> => alice.request('PUT', `/v1/buckets/b${n}`);
      const answers = await Promise.all([
        ...Array.from({ length: 10 }, (_, n) => write(n)),
        service.request('GET', '/v1/__heartbeat__'),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 201), 200]);
    } finally {
      await service.close();
    }
  },
);

// Proves S-019.
test('opens the cache at its own configured location.', async () => {
  const folder = temporaryFolder();
  await ask({ cache_url: join(folder, 'store') }, 'GET /__heartbeat__');
  expect(readdirSync(folder)).toEqual([]);
  const [heartbeat] = await ask({ cache_backend: 'sqlite', cache_url: join(folder, 'store') }, 'GET /__heartbeat__');
  expect(heartbeat).toMatchObject({ status: 200, body: { cache: true } });
  expect(readdirSync(folder)).not.toEqual([]);
});
