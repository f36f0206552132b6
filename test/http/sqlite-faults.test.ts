// A failure of SQLite in each statement in turn: requests that meet it are refused with 503, the heartbeat reports what
// lasts, nothing ends the process, and everything works again when the failure is over.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../../src/testing/service-client.ts';
import { failures, SqliteFaults, type Failure } from '../support/sqlite-faults.ts';

/** `all`: each failure in each statement, instead of each failure in every sixth statement. */
const isThorough = process.env['COFFER_STATEMENT_FAULTS'] === 'all';

async function start(): Promise<TestService> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-test-'));
  const file = join(folder, 'coffer.sqlite3');
  const kinds = ['storage', 'permission', 'cache'];
  const places = kinds.flatMap((kind) => [
    [`${kind}_backend`, 'sqlite'],
    [`${kind}_url`, file],
  ]);
  const settings = { ...Object.fromEntries(places), sqlite_synchronous: 'OFF', includes: 'default_bucket history' };
  const service = await startTestService({ settings: settings as Record<string, string> });
  return {
    ...service,
    async close() {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const step = (method: string, path: string, body?: unknown): readonly [string, string, unknown] => [method, path, body];

/** Reads and writes of all kinds, below a bucket of its own. */
const workload = [
  step('PUT', ''),
  step('PUT', '/collections/c'),
  step('PUT', '/groups/g', { data: { members: ['basicauth:someone'] } }),
  step('POST', '/collections/c/records', { data: { n: 1 } }),
  step('PUT', '/collections/c/records/r', { data: { n: 2 }, permissions: { read: ['system.Everyone'] } }),
  step('GET', '/collections/c/records/r'),
  step('PATCH', '/collections/c/records/r', { data: { n: 3 } }),
  step('GET', '/collections/c/records?_limit=1'),
  step('GET', '/collections/c/records?min_n=2&_sort=-n'),
  step('POST', '/batch', {
    defaults: { method: 'PUT' },
    requests: ['a', 'b'].map((id) => ({ path: `BUCKET/collections/c/records/${id}`, body: { data: { n: 4 } } })),
  }),
  step('DELETE', '/collections/c/records/a'),
  step('GET', '/collections/c/records?_since=0'),
  step('DELETE', '/collections/c/records?_limit=1'),
  step('GET', '/history'),
  step('DELETE', '/collections/c'),
  step('GET', '/__heartbeat__'),
  step('DELETE', ''),
] as const;

/** Does the work; returns the status of each answer, having checked that none blames the service for a fault of the world. */
async function work(client: TestClient, bucket: string): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const [method, path, body] of workload) {
    const below = `/buckets/${bucket}`;
    const address = path === '/batch' || path === '/__heartbeat__' ? `/v1${path}` : `/v1${below}${path}`;
    const sent =
      body === undefined ? undefined : (JSON.parse(JSON.stringify(body).replaceAll('BUCKET', below)) as unknown);
    const response = await client.request(method, address, sent === undefined ? {} : { body: sent });
    statuses.push(response.status);
    if (response.status < 500) continue;
    expect([method, path, response.status, response.headers['retry-after']]).toEqual([method, path, 503, '3']);
    if (path !== '/__heartbeat__') expect(response.body).toMatchObject({ code: 503, errno: 201 });
  }
  return statuses;
}

const sound = [201, 201, 201, 201, 201, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200];
const heartbeatStep = workload.findIndex(([, path]) => path === '/__heartbeat__');
/** After so many runs with a failure the work is done once without one. */
const runsPerSoundOne = 8;
const lasting: readonly Failure[] = [failures.corrupt, failures.notadb];

describe('a failure of SQLite', () => {
  test('in any statement of the work is a 503 at most, and passes', { timeout: 600_000 }, async () => {
    const faults = SqliteFaults.install();
    const kinds: readonly Failure[] = Object.values(failures);
    const struck = new Set<string>();
    let service = await start();
    let [runs, refused] = [0, 0];
    for (let n = 1, isDone = false; !isDone; n++) {
      for (const [index, failure] of kinds.entries()) {
        if (!isThorough && n % kinds.length !== index) continue;
        const client = service.asUser('alice');
        faults.arm(n, failure);
        const statuses = await work(client, `faulty-${++runs}`);
        const sql = faults.disarm();
        isDone = sql === undefined;
        if (sql !== undefined) struck.add(sql);
        if (statuses.includes(503)) refused++;
        const heartbeat = await service.request('GET', '/v1/__heartbeat__');
        const isKnown = sql !== undefined && lasting.includes(failure) && heartbeat.status === 503;
        expect([n, sql, heartbeat.status]).toEqual([n, sql, isKnown ? 503 : 200]);
        if (runs % runsPerSoundOne !== 0 && !isKnown && !isDone) continue;
        const after = await work(client, `sound-${runs}`);
        expect([n, sql, ...after]).toEqual([n, sql, ...sound.with(heartbeatStep, heartbeat.status)]);
        if (!isKnown) continue;
        await service.close();
        service = await start();
      }
    }
    await service.close();
    // Statements of all kinds were struck, the end of snapshots included.
    for (const sql of ['BEGIN', 'COMMIT', 'BEGIN IMMEDIATE', 'SAVEPOINT unit', 'RELEASE unit']) {
      expect(struck).toContain(sql);
    }
    expect(refused).toBeGreaterThan(20);
    console.log(`${runs} runs, ${struck.size} different statements failed, ${refused} runs saw 503`);
  });

  // What is locked is waited for, which takes its time.
  test.each(Object.entries(failures).filter(([name]) => name !== 'busy'))(
    'that lasts (%s) is reported by the heartbeat, and what does not damage the file is forgotten',
    async (_, failure) => {
      const faults = SqliteFaults.install();
      const service = await start();
      onTestFinished(() => service.close());
      const client = service.asUser('alice');
      expect(await work(client, 'before')).toEqual(sound);
      faults.arm(1, failure, { isLasting: true });
      const statuses = await work(client, 'during');
      expect(new Set(statuses)).toEqual(new Set([503]));
      const { body } = await service.request('GET', '/v1/__heartbeat__');
      expect(body).toEqual({ storage: false, permission: false, cache: false });
      faults.disarm();
      const isDamage = lasting.includes(failure);
      const heartbeat = await service.request('GET', '/v1/__heartbeat__');
      expect(heartbeat.body).toEqual({ storage: !isDamage, permission: !isDamage, cache: true });
      expect(await work(client, 'after')).toEqual(sound.with(heartbeatStep, isDamage ? 503 : 200));
    },
  );
});
