// Hooks are matched in the background in steps, with a limit for each request.
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger, type Logger } from '../../../src/contracts/logger.ts';
import type { TestClient } from '../../../src/testing/index.ts';
import { collection, putRecord, saveHooks, start, team } from './service.ts';

const tooMuchWork = 'Mails for a change were not created: matching the hooks of the request takes too much work';
const queueIsFull = 'Mails for a change were dropped: the queue is full';

interface Line {
  readonly message: string;
  readonly fields: object;
}

/** Returns a logger that collects warnings and errors, and announces each as `line`. */
function collectingLogger(): { readonly logger: Logger; readonly lines: readonly Line[]; readonly news: EventEmitter } {
  const lines: Line[] = [];
  const news = new EventEmitter();
  const log = (fields: object | string, message = ''): void => {
    if (typeof fields === 'object' && message.startsWith('Mails for a change')) lines.push({ fields, message });
    news.emit('line', message);
  };
  return { logger: { ...silentLogger, warn: log, error: log }, lines, news };
}

/** Hooks with costly patterns that match no record. */
const costlyHooks = Array.from({ length: 5 }, (_, n) => {
  const pattern = `^(?:[ab]*a[ab]{800}d|[ab]*b[ab]{800}d|[ab]*${n})`;
  return { template: 'x', resource_name: 'record', id: pattern, recipients: [team] };
});

async function createRecords(owner: TestClient, count: number, path = collection): Promise<void> {
  for (let done = 0; done < count; done += 25) {
    const requests = Array.from({ length: Math.min(25, count - done) }, (_, n) => {
      const digits = (done + n).toString(2).replaceAll('0', 'a').replaceAll('1', 'b').padStart(10, 'a');
      const id = digits + 'ab'.repeat(245);
      return { method: 'PUT', path: `${path.slice('/v1'.length)}/records/${id}`, body: {} };
    });
    expect((await owner.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
  }
}

describe('Matching hooks', () => {
  it('lets other requests run, and ends with one warning when it is too much work.', async () => {
    const { logger, lines, news } = collectingLogger();
    const { owner, sink } = await start({ logger });
    await owner.request('PUT', collection);
    await createRecords(owner, 150);
    await saveHooks(owner, costlyHooks);
    const order: string[] = [];
    news.on('line', () => order.push('warned'));
    const warned = once(news, 'line');
    expect((await owner.request('DELETE', `${collection}/records`)).status).toBe(200);
    for (let n = 0; n < 5; n++) {
      await owner.request('GET', '/v1/buckets/food');
      order.push('answered');
    }
    await warned;
    expect(order).toEqual([...Array.from({ length: 5 }, () => 'answered'), 'warned']);
    expect(lines).toEqual([
      { message: tooMuchWork, fields: { event: 'AfterResourceChanged', changes: 150, processed: expect.any(Number) } },
    ]);
    // The next request has a budget of its own.
    await saveHooks(owner, [{ template: '{id}', resource_name: 'record', recipients: [team] }]);
    await putRecord(owner, 'apple');
    expect((await sink.received(1)).map(({ text }) => text)).toEqual(['apple']);
  });

  it('has one limit for all entries of a batch, with one warning.', async () => {
    const { logger, lines } = collectingLogger();
    const { owner, sink } = await start({ logger });
    const lists = [1, 2, 3, 4].map((n) => `${collection}-${n}`);
    for (const list of lists) {
      await owner.request('PUT', list);
      await createRecords(owner, 50, list);
      await saveHooks(owner, costlyHooks, list);
    }
    const requests = lists.map((list) => ({ method: 'DELETE', path: `${list.slice('/v1'.length)}/records` }));
    expect((await owner.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
    await saveHooks(owner, [{ template: '{id}', resource_name: 'record', recipients: [team] }]);
    await putRecord(owner, 'apple');
    await putRecord(owner, 'pear');
    await sink.received(2);
    expect(lines.map(({ message }) => message)).toEqual([tooMuchWork]);
  });

  it('sends all mails of a large request when they fit in the queue.', async () => {
    const { logger, lines } = collectingLogger();
    const { owner, sink } = await start({ logger });
    await owner.request('PUT', collection);
    await createRecords(owner, 50);
    const hook = { resource_name: 'record', template: '{id}', recipients: [team], id: '^(?:a|b)+$' };
    await saveHooks(owner, [
      { ...hook, subject: 'first' },
      { ...hook, subject: 'never', action: 'create' },
      { ...hook, subject: 'second' },
    ]);
    const { body } = await owner.request('DELETE', `${collection}/records`);
    const ids = (body as { data: { id: string }[] }).data.map(({ id }) => id);
    const letters = await sink.received(100);
    const expected = ids.flatMap((id) => [`first ${id}`, `second ${id}`]);
    expect(letters.map(({ subject, text }) => `${subject} ${text}`).toSorted()).toEqual(expected.toSorted());
    expect(lines).toEqual([]);
  });

  it('ends at the first mail that finds the queue full.', async () => {
    const deaf = createServer(() => {});
    deaf.listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    onTestFinished(() => void deaf.close());
    const { logger, lines, news } = collectingLogger();
    const { port } = deaf.address() as AddressInfo;
    const settings = { 'mail.port': String(port), 'mail.timeout_seconds': '1', 'emailer.max_waiting': '10' };
    const { owner } = await start({ logger, settings });
    await owner.request('PUT', collection);
    await createRecords(owner, 100);
    await saveHooks(owner, [{ resource_name: 'record', template: '{id}', recipients: [team] }]);
    const logged = once(news, 'line');
    await owner.request('DELETE', `${collection}/records`);
    await logged;
    // Ten mails wait and two are being sent.
    expect(lines).toEqual([
      { message: queueIsFull, fields: { event: 'AfterResourceChanged', changes: 100, processed: 12 } },
    ]);
  });

  it('takes of a large group only as many members as a mail may have.', async () => {
    const { owner, sink } = await start({ settings: { 'emailer.max_recipients': '3' } });
    const members = Array.from({ length: 2000 }, (_, n) =>
      n % 2 === 0 ? `basicauth:${n}` : `account:u${n}@example.org`,
    );
    await owner.request('PUT', '/v1/buckets/food/groups/many', { body: { data: { members } } });
    const recipients = ['U1 <u1@example.org>', '/buckets/food/groups/many'];
    await saveHooks(owner, [{ resource_name: 'record', template: 'x', recipients }]);
    await putRecord(owner, 'apple');
    const [letter] = await sink.received(1);
    expect(letter!.to).toEqual(['u1@example.org', 'u3@example.org', 'u5@example.org']);
  });
});
