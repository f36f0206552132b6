// Mails are sent after the commit, in the background, and before the service stops.
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger, type Logger } from '../../../src/contracts/logger.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import { openDoor } from '../accounts/service.ts';
import { run, workingFolder } from '../../cli/process.ts';
import { collection, team, mailSettings, putRecord, saveHooks, start } from './service.ts';

const hook = { resource_name: 'record', template: '{action} {id}', recipients: [team] };

/** Returns a logger that collects errors. */
function errorLog(): { readonly logger: Logger; readonly errors: readonly string[]; readonly news: EventEmitter } {
  const errors: string[] = [];
  const news = new EventEmitter();
  const error = (fields: object | string, message?: string): void => {
    errors.push(message ?? (typeof fields === 'string' ? fields : JSON.stringify(fields)));
    news.emit('logged');
  };
  return { logger: { ...silentLogger, error }, errors, news };
}

it('sends no mail for a request that is rolled back.', async () => {
  const { owner, sink } = await start();
  await saveHooks(owner, [hook]);
  const requests = [
    { method: 'PUT', path: `${collection}/records/apple`, body: {} },
    { method: 'PUT', path: '/buckets/food', body: { data: { 'kinto-emailer': { hooks: [{}] } } } },
  ];
  expect((await owner.request('POST', '/v1/batch', { body: { requests } })).status).toBe(400);
  expect((await owner.request('GET', `${collection}/records/apple`)).status).toBe(404);
  await putRecord(owner, 'pear');
  const letters = await sink.received(1);
  expect(letters.map(({ text }) => text)).toEqual(['create pear']);
});

it('an unresponsive mail server delays no response and is logged.', async () => {
  const deaf = createServer(() => {});
  deaf.listen(0, '127.0.0.1');
  await once(deaf, 'listening');
  onTestFinished(() => void deaf.close());
  const { logger, errors, news } = errorLog();
  const { port } = deaf.address() as AddressInfo;
  const settings = { 'mail.port': String(port), 'mail.timeout_seconds': '0.2' };
  const { owner } = await start({ settings, logger });
  await saveHooks(owner, [hook]);
  const logged = once(news, 'logged');
  expect((await putRecord(owner, 'apple')).status).toBe(201);
  await logged;
  expect(errors).toEqual(['A mail for a change could not be sent']);
});

it('mails beyond the queue limit are dropped and logged.', async () => {
  const { logger, errors } = errorLog();
  const { owner, sink } = await start({ settings: { 'emailer.max_waiting': '1' }, logger });
  await saveHooks(
    owner,
    Array.from({ length: 10 }, () => hook),
  );
  await putRecord(owner, 'apple');
  await sink.received(3);
  expect(errors).toEqual(['Mails for a change were dropped: the queue is full']);
});

it('a full queue drops mails of the user with the most, and takes those of another one.', async () => {
  const { logger, errors } = errorLog();
  const { owner, service, sink } = await start({ settings: { 'emailer.max_waiting': '4' }, logger });
  await saveHooks(
    owner,
    Array.from({ length: 6 }, () => hook),
  );
  const other = '/v1/buckets/food/collections/others';
  await saveHooks(owner, [hook], other);
  const permissions = { 'record:create': ['system.Authenticated'] };
  await owner.request('PATCH', other, { body: { permissions } });
  const held = sink.hold();
  await putRecord(owner, 'apple');
  const { release } = await held;
  const path = `${other}/records/pear`;
  expect((await service.asUser('other').request('PUT', path, { body: {} })).status).toBe(201);
  release();
  const letters = await sink.received(6);
  expect(letters.map(({ text }) => text).toSorted()).toEqual([...Array(5).fill('create apple'), 'create pear']);
  expect(errors).toEqual(['Mails for a change were dropped: the queue is full']);
});

it('a stopping service sends queued mails.', async () => {
  const sink = await startMailSink();
  const service = await startTestService({ settings: mailSettings(sink) });
  const owner = service.asUser('owner');
  await owner.request('PUT', '/v1/buckets/food');
  await saveHooks(
    owner,
    Array.from({ length: 10 }, () => hook),
  );
  await putRecord(owner, 'apple');
  await service.close();
  expect(sink.letters).toHaveLength(10);
});

it('invalid stored hooks are ignored, and the others are sent.', async () => {
  const { plugin, stores } = openDoor();
  const sink = await startMailSink();
  const service = await startTestService({ settings: mailSettings(sink), plugins: [plugin] });
  onTestFinished(() => service.close());
  const owner = service.asUser('owner');
  await owner.request('PUT', '/v1/buckets/food');
  await owner.request('PUT', collection);
  const { storage } = stores();
  const transaction = await storage.database.begin();
  const recipients = ['a@example.org\r\nBcc: b@example.org'];
  const text = JSON.stringify({ 'kinto-emailer': { hooks: [{ ...hook, recipients }, hook] } });
  await storage
    .writer(transaction)
    .update({ kind: 'collection', parent: storedParent('/buckets/food') }, 'fruits', text);
  await transaction.commit();
  await putRecord(owner, 'apple');
  const letters = await sink.received(1);
  expect(letters.map(({ to }) => to)).toEqual([[team]]);
});

it('the plugin accepts its name in Kinto and has a capability.', async () => {
  const { service } = await start({ settings: { includes: 'kinto_emailer' } });
  expect((await service.request('GET', '/v1/')).body).toMatchObject({ capabilities: { emailer: {} } });
});

it('the command send-email sends a mail or reports the error.', async () => {
  const sink = await startMailSink();
  const environment = { SVC_MAIL_HOST: '127.0.0.1', SVC_MAIL_PORT: String(sink.port) };
  const place = { cwd: workingFolder(), environment };
  const sent = await run(['send-email', 'zoe@example.org'], place);
  expect(sent).toEqual({ code: 0, out: 'Sent a mail to zoe@example.org.\n', err: '' });
  expect(sink.letters).toMatchObject([{ to: ['zoe@example.org'], subject: expect.stringContaining('Test') }]);

  expect(await run(['send-email', 'a@example.org, b@example.org'], place)).toMatchObject({ code: 2, out: '' });
  const closed = { ...place, environment: { ...environment, SVC_MAIL_PORT: '1' } };
  const failed = await run(['send-email', 'zoe@example.org'], closed);
  expect(failed).toMatchObject({ code: 1, out: '' });
  expect(failed.err).toContain('ECONNREFUSED');
});
