// One-time codes of requests whose write the server has refused: nothing was committed, so the codes are usable at once.
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { BackendUnavailable, leftNoTrace } from '../../../src/contracts/errors.ts';
import { SharedTransaction } from '../../../src/backends/postgresql/shared-transaction.ts';
import type { Connection } from '../../../src/backends/postgresql/connection.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { cloneDatabase, openPostgres } from '../../support/postgresql.ts';
import { runSql } from '../../support/postgresql-setup.ts';
import { activate, change, mailSettings, requestReset, zoe } from '../../plugins/accounts/mailed-accounts.ts';
import { signUp } from '../../plugins/accounts/service.ts';

async function raiseOnWrites(url: string): Promise<() => Promise<unknown>> {
  await runSql(
    url,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN RAISE EXCEPTION ''disk full'' USING ERRCODE = ''53100''; END';
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON coffer_objects FOR EACH ROW EXECUTE FUNCTION refuse()`,
  );
  return () => runSql(url, 'DROP FUNCTION refuse CASCADE');
}

async function lockObjects(url: string): Promise<() => Promise<unknown>> {
  const { database } = openPostgres(systemClock, { url });
  const transaction = await database.begin();
  await database.within(transaction, 'storage').run({ text: 'LOCK TABLE coffer_objects IN EXCLUSIVE MODE' }, []);
  return async () => {
    await transaction.rollback();
    await database.close();
  };
}

test.each([
  { cause: 'a full disk', refuse: raiseOnWrites },
  { cause: 'a lock timeout', refuse: lockObjects },
])('Codes are usable again after $cause.', async ({ refuse }) => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  const sink = await startMailSink();
  const settings = { ...mailSettings(sink), ...postgresqlSettings(url), postgresql_lock_timeout_seconds: '0.1' };
  const service = await startTestService({ settings });
  onTestFinished(() => service.close());
  const ann = 'ann@example.org';
  await signUp(service, zoe, 'right');
  const [first] = await sink.received(1);
  expect((await activate(service, zoe, first!.text)).status).toBe(200);
  await sink.received(2);
  await requestReset(service, zoe);
  const temporary = (await sink.received(3))[2]!.text;
  await signUp(service, ann, 'right');
  const key = (await sink.received(4))[3]!.text;
  const body = { data: { password: 'new' } };

  const allow = await refuse(url);
  expect((await change(service, zoe, temporary, body)).status).toBe(503);
  expect((await activate(service, ann, key)).status).toBe(503);
  await allow();
  expect((await change(service, zoe, temporary, body)).status).toBe(200);
  expect((await activate(service, ann, key)).status).toBe(200);
  expect((await change(service, zoe, temporary, body)).status).toBe(401);
});

test('A connection that is lost during the commit of several units leaves the outcome open for all of them.', async () => {
  const lost = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  let breakConnection: () => void = () => undefined;
  const broken = new Promise<never>((_, reject) => {
    breakConnection = () => reject(lost);
  });
  const connection = {
    place: 'localhost',
    run: ({ text }: { text: string }) =>
      /^(?:INSERT|COMMIT)/.test(text) ? broken : Promise.resolve({ rows: [], count: 0, command: '' }),
    release: () => undefined,
  } as unknown as Connection;
  const transaction = new SharedTransaction(connection, undefined, { statementMs: 1000, lockMs: 1000 });
  const units = [{ contended: () => [] }, { contended: () => [] }];
  transaction.open();
  transaction.addUnit();
  const write = transaction.send('storage', { text: 'INSERT' }, [], units[1]!);
  const committing = transaction.commit(() => undefined);
  breakConnection();
  await Promise.allSettled([write, committing]);
  for (const unit of units) {
    const error = await transaction.requireCommitted(unit).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BackendUnavailable);
    expect(leftNoTrace(error)).toBe(false);
  }
});
