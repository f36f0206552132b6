// A failure of SQLite in each statement in turn: requests that meet it are refused with 503, the heartbeat reports what
// lasts, nothing ends the process, and everything works again when the failure is over.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/service/service-client.ts';
import { doWork, soundWork, workSettings } from '../support/scripted-work.ts';
import { failures, SqliteFaults, type Failure } from '../support/sqlite-faults.ts';

/** With `all` each failure strikes each statement; else some of them the statements of each text. */
const isThorough = process.env['COFFER_STATEMENT_FAULTS'] === 'all';

async function start(): Promise<TestService> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-test-'));
  const file = join(folder, 'coffer.sqlite3');
  const kinds = ['storage', 'permission', 'cache'];
  const places = kinds.flatMap((kind) => [
    [`${kind}_backend`, 'sqlite'],
    [`${kind}_url`, file],
  ]);
  const settings = { ...Object.fromEntries(places), sqlite_synchronous: 'OFF', ...workSettings };
  const service = await startTestService({ settings: settings as Record<string, string> });
  return {
    ...service,
    async close() {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** After so many runs with a failure the work is done once without one. */
const runsPerSoundOne = 5;
const lasting: readonly Failure[] = [failures.corrupt, failures.notadb];

/** A failure of the `n`-th statement, or of the `n`-th with the text `only`. */
interface Strike {
  readonly n: number;
  readonly failure: Failure;
  readonly only?: string;
}

/** Each failure in each of the statements; else one failure in the first and one in the second statement of each text. */
function* strikes(seen: readonly string[]): Generator<Strike> {
  const kinds: readonly Failure[] = Object.values(failures);
  if (isThorough) {
    for (const index of seen.keys()) for (const failure of kinds) yield { n: index + 1, failure };
    return;
  }
  for (const [index, only] of [...new Set(seen)].entries()) {
    for (const n of [1, 2]) yield { n, only, failure: kinds[(index + 3 * n) % kinds.length]! };
  }
}

describe('a failure of SQLite', () => {
  test('in any statement of the work is a 503 at most, and passes', { timeout: 600_000 }, async () => {
    const faults = SqliteFaults.install();
    const struck = new Set<string>();
    let service = await start();
    faults.arm(Infinity, failures.full);
    expect(await doWork(service.asUser('alice'), 'first')).toEqual(soundWork());
    const { seen } = faults;
    let [runs, refused] = [0, 0];
    for (const { n, failure, only } of strikes(seen)) {
      const client = service.asUser('alice');
      faults.arm(n, failure, only === undefined ? {} : { only });
      const statuses = await doWork(client, `faulty-${++runs}`);
      const sql = faults.disarm();
      if (sql !== undefined) struck.add(sql);
      if (statuses.includes(503)) refused++;
      const heartbeat = await service.request('GET', '/v1/__heartbeat__');
      const isKnown = sql !== undefined && lasting.includes(failure) && heartbeat.status === 503;
      expect([n, sql, heartbeat.status]).toEqual([n, sql, isKnown ? 503 : 200]);
      if (runs % runsPerSoundOne !== 0 && !isKnown) continue;
      const after = await doWork(client, `sound-${runs}`);
      expect([n, sql, ...after]).toEqual([n, sql, ...soundWork(heartbeat.status)]);
      if (!isKnown) continue;
      await service.close();
      service = await start();
    }
    await service.close();
    // Statements of all kinds were struck, the end of snapshots included. Units that share a group are struck in its own tests.
    for (const sql of ['BEGIN', 'COMMIT', 'BEGIN IMMEDIATE']) {
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
      expect(await doWork(client, 'before')).toEqual(soundWork());
      faults.arm(1, failure, { isLasting: true });
      const statuses = await doWork(client, 'during');
      expect(new Set(statuses)).toEqual(new Set([503]));
      const { body } = await service.request('GET', '/v1/__heartbeat__');
      expect(body).toEqual({ storage: false, permission: false, cache: false });
      faults.disarm();
      const isDamage = lasting.includes(failure);
      const heartbeat = await service.request('GET', '/v1/__heartbeat__');
      expect(heartbeat.body).toEqual({ storage: !isDamage, permission: !isDamage, cache: true });
      expect(await doWork(client, 'after')).toEqual(soundWork(isDamage ? 503 : 200));
    },
  );
});
