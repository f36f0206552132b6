// Maintenance of the database under a running service: every phase is a 503, and the service recovers without a restart.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isLostConnection, translateError } from '../../../src/backends/postgresql/errors.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { PostgresqlFaults, type Failure } from '../../support/postgresql-faults.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { databaseUrl, runSql } from '../../support/postgresql-setup.ts';
import { doWork, soundWork, workSettings } from '../../support/scripted-work.ts';
import { inExtent } from '../../support/extent.ts';

let url: string;
let drop: () => Promise<void>;
let service: TestService;

beforeAll(async () => {
  ({ url, drop } = await cloneDatabase());
  service = await startTestService({ settings: { ...postgresqlSettings(url), ...workSettings } });
});
afterAll(async () => {
  await service.close();
  await drop();
});

/** Runs SQL about the database from another one. */
async function administer(sql: (name: string) => string): Promise<void> {
  await runSql(databaseUrl(url, 'postgres'), sql(new URL(url).pathname.slice(1)));
}

const endSessions = (name: string): string =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`;

describe('a database under maintenance', () => {
  test('that takes no connections is a 503 for every request, and works again afterwards', async () => {
    const client = service.asUser('alice');
    expect(await doWork(client, 'before')).toEqual(soundWork());
    await administer((name) => `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    onTestFinished(() => administer((name) => `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`));
    await administer(endSessions);
    expect(new Set(await doWork(client, 'during'))).toEqual(new Set([503]));
    const { text } = await client.request('GET', '/v1/buckets/b');
    expect(text).toContain('the database takes no connections at the moment');
    await administer((name) => `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`);
    expect(await doWork(client, 'after')).toEqual(soundWork());
  });

  test('that does not exist for a while is a 503 for every request', async () => {
    const client = service.asUser('alice');
    const name = new URL(url).pathname.slice(1);
    const rename = async (from: string, to: string): Promise<void> => {
      // The service connects again at once, and a database with sessions cannot be renamed.
      await administer(() => `ALTER DATABASE ${from} WITH ALLOW_CONNECTIONS false`);
      await administer(() => endSessions(from));
      await administer(() => `ALTER DATABASE ${from} RENAME TO ${to}`);
      await administer(() => `ALTER DATABASE ${to} WITH ALLOW_CONNECTIONS true`);
    };
    await rename(name, `${name}_away`);
    try {
      expect(new Set(await doWork(client, 'during'))).toEqual(new Set([503]));
    } finally {
      await rename(`${name}_away`, name);
    }
    expect(await doWork(client, 'after-rename')).toEqual(soundWork());
  });
});

/** Step between the failing statements; with `all` each one fails in turn. */
const stride = process.env['COFFER_STATEMENT_FAULTS'] === 'all' ? 1 : inExtent(9, 4);

const failures: readonly Failure[] = [
  'session ends',
  { code: '55000' },
  { code: '25006' },
  { code: '57P03' },
  { code: '53100' },
  { code: '58030' },
  { code: '25P04' },
];

test('A failure of the server in any statement is at most a 503, and passes.', { timeout: 600_000 }, async () => {
  const faults = PostgresqlFaults.install();
  const client = service.asUser('alice');
  let [runs, refused] = [0, 0];
  for (let n = 1, sql: string | undefined = ''; sql !== undefined; n += stride) {
    faults.arm(n, failures[n % failures.length]!);
    const statuses = await doWork(client, `faulty-${++runs}`);
    sql = faults.disarm();
    if (statuses.includes(503)) refused++;
    if (runs % 8 === 0 || sql === undefined) {
      expect([n, sql, ...(await doWork(client, `sound-${runs}`))]).toEqual([n, sql, ...soundWork()]);
    }
  }
  expect(refused).toBeGreaterThan(10);
  console.log(`${runs} runs, ${refused} of them saw 503`);
});

test('The farewell of a pooler, with the code of a protocol violation, is a lost connection; an error with that code is a fault.', () => {
  const error = (severity: string): Error =>
    Object.assign(new Error('no more connections allowed'), { code: '08P01', severity });
  expect(isLostConnection(error('FATAL'))).toBe(true);
  expect(translateError(error('FATAL'), 'storage', 'localhost:5432')).toBeInstanceOf(BackendUnavailable);
  expect(isLostConnection(error('ERROR'))).toBe(false);
  expect(translateError(error('ERROR'), 'storage', 'localhost:5432')).not.toBeInstanceOf(BackendUnavailable);
});
