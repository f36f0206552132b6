// The operating area of the console: overview, log, slow requests, settings, quotas, backups and webhooks of real services.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { testBackends } from '../../src/testing/index.ts';
import { Receiver } from '../support/webhook-receiver.ts';
import { expectGoodViews } from './accessibility.ts';
import { collection, hostile, setStage, type Stage } from './stage.ts';

const everyone = {
  operations_read_principals: 'system.Authenticated',
  operations_write_principals: 'system.Authenticated',
};
const sqlite = testBackends.find(({ name }) => name === 'sqlite');
/** A log that is kept and written nowhere. */
const logger = createLogger({ level: 'debug', format: 'json', name: 'coffer' }, { write() {} });

const view = (tab: string, parameters = ''): string => `#/operations?_tab=${tab}${parameters}`;

/** Returns a part of the page by its name. */
const part = ({ page }: Stage, name: string | RegExp): Locator => page.getByRole('region', { name });

/** Counts the requests of the page to an endpoint. */
function countRequests({ page }: Stage, endpoint: string): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (request.url().includes(`/operations/${endpoint}`)) count += 1;
  });
  return () => count;
}

/** Hides or shows the tab. */
async function setHidden({ page }: Stage, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);
}

describe('The operating area of the console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-console-'));
  const stage = setStage(
    {
      includes: 'admin operations quotas',
      ...everyone,
      'quotas.bucket_max_bytes': '1000',
      operations_backup_folder: folder,
    },
    { ...sqlite, logger },
  );
  afterAll(() => rmSync(folder, { recursive: true }));

  it('shows figures and charts, whose values are also a table.', async () => {
    const { page, visitor } = stage;
    await stage.store({ bread: '{}', soup: '{}' });
    await visitor.signIn('alice');
    await page.getByRole('link', { name: 'Operations', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor();
    await page.getByText('storage works').waitFor();
    await part(stage, 'Figures')
      .getByText(/^Version .* with sqlite, started/)
      .waitFor();
    const chart = part(stage, 'Requests per second, by status');
    await chart.locator('canvas').waitFor();
    await chart.getByRole('row', { name: '2xx success' }).getByText(/\/s$/).first().waitFor();
    await chart.getByText('Values').click();
    await chart.getByRole('columnheader', { name: '5xx failed' }).waitFor();
    await page.getByRole('link', { name: 'Last day' }).click();
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await page.getByRole('list', { name: 'Lines, newest first' }).waitFor();
    await page.goBack();
    await page.reload();
    await expect.poll(() => page.getByRole('link', { name: 'Last day' }).getAttribute('aria-current')).toBe('true');
  });

  it('refreshes while it is visible, and keeps the last figures while the service is away.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await page.clock.install();
    const count = countRequests(stage, 'overview');
    await visitor.go(view('overview'));
    await page.getByText('storage works').waitFor();
    expect(count()).toBe(1);
    await page.clock.runFor(10_000);
    await expect.poll(count).toBe(2);
    await setHidden(stage, true);
    await page.clock.runFor(60_000);
    await setHidden(stage, false);
    await expect.poll(count).toBe(3);
    await page.context().setOffline(true);
    await page.clock.runFor(10_000);
    const note = page.getByText('The service does not respond.');
    await note.waitFor();
    await page.getByText('storage works').waitFor();
    await stage.checkView('operations-away');
    await page.context().setOffline(false);
    await page.clock.runFor(10_000);
    await note.waitFor({ state: 'detached' });
  });

  it('filters, searches, opens and follows lines of the log, whatever they contain.', async () => {
    const { alice, page, visitor } = stage;
    for (let n = 0; n < 250; n += 1) logger.debug({ n }, 'filler');
    logger.error({ note: hostile, '\u202Ereversed': 'x' }, `Disk is full: ${hostile}`);
    await alice.request('GET', `/v1/buckets?title=${encodeURIComponent(hostile)}`, {
      headers: { 'User-Agent': hostile },
    });
    await visitor.signIn('alice');
    await page.clock.install();
    await visitor.go(view('log'));
    const lines = page.getByRole('list', { name: 'Lines, newest first' }).getByRole('listitem');
    await lines.filter({ hasText: 'GET /v1/buckets?title=' }).waitFor();
    await stage.press('Show older lines');
    await page.getByText(/ of 2[5-9]\d loaded lines/).waitFor();
    await page.getByLabel('Level').selectOption('errors');
    await expect.poll(() => lines.count()).toBe(1);
    await lines.getByText(`Disk is full: ${hostile}`).click();
    await page
      .getByLabel('The line as JSON')
      .getByText(`"note": ${JSON.stringify(hostile)}`)
      .waitFor();
    await stage.checkView('operations-log-line');

    logger.error('Disk is full again');
    await page.clock.runFor(3000);
    await lines.filter({ hasText: 'full again' }).waitFor();
    await page.getByLabel('The line as JSON').waitFor();
    await stage.press('Follow');
    await page.waitForURL(/_follow=0/);
    logger.error('Disk is empty');
    await page.clock.runFor(30_000);
    expect(await lines.count()).toBe(2);
    await stage.press('Refresh');
    await lines.filter({ hasText: 'Disk is empty' }).waitFor();
    await page.getByLabel('Find in the loaded lines').fill('AGAIN disk');
    await page.clock.runFor(300);
    await page.getByText('1 of 3 loaded lines').waitFor();
    await page.reload();
    await page.getByText('1 of 3 loaded lines').waitFor();
    expect(await page.getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed')).toBe('false');
    await page.getByLabel('Find in the loaded lines').fill('nothing like this');
    await page.clock.runFor(300);
    await page.getByText('None of the loaded lines match.').waitFor();
  });

  it('hides the requests of its own pages in the log, until they are asked for.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(view('settings'));
    // A page that is left too early has sent no request.
    await page.getByLabel('Find a setting').fill('userid_hmac_secret');
    await page.getByText('userid_hmac_secret', { exact: true }).waitFor();
    await visitor.go(view('log'));
    const own = page.getByText('GET /v1/operations/settings');
    await page.getByRole('listitem').filter({ hasText: 'GET /v1/' }).first().waitFor();
    expect(await own.count()).toBe(0);
    await page.getByLabel('Requests of these pages').check();
    await own.waitFor();
  });

  it('lists slow requests with their users.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('GET', `${collection}/records?note=${encodeURIComponent(hostile)}`);
    await visitor.signIn('alice');
    await visitor.go(view('slow'));
    const row = page.getByRole('row').filter({ hasText: `${collection}/records?note=` });
    await row.getByText('you', { exact: true }).waitFor();
    await row.getByText(/^[\d.]+ m?s$/).waitFor();
  });

  it('shows settings with their sources, and no secrets.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(view('settings'));
    await page.getByLabel('Find a setting').fill('userid_hmac_secret');
    const secret = page.getByRole('listitem').filter({ has: page.getByText('userid_hmac_secret', { exact: true }) });
    await secret.getByText('hidden', { exact: true }).waitFor();
    expect(await page.content()).not.toContain('secret for tests');
    await page.getByLabel('Find a setting').fill('operations_');
    await page.getByLabel('Only changed ones').check();
    await page.getByText(/^3 of \d+ settings$/).waitFor();
    await page.reload();
    await page.getByText(/^3 of \d+ settings$/).waitFor();
    await page.getByText(folder, { exact: true }).waitFor();
  });

  it('shows how much of their quotas buckets use, and leads to them.', async () => {
    const { page, visitor } = stage;
    await stage.store({ bread: `{"text":"${'x'.repeat(500)}"}` });
    await visitor.signIn('alice');
    await visitor.go(view('quotas'));
    const meter = page.getByRole('meter', { name: 'Size of kitchen' });
    await meter.waitFor();
    expect(Number(await meter.getAttribute('value'))).toBeGreaterThan(500);
    await page
      .getByText(/\d+ bytes of 1\.0 kB/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'kitchen / recipes' }).click();
    await page.getByRole('heading', { level: 1, name: 'collection recipes' }).waitFor();
  });

  it('backs up SQLite.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(view('backups'));
    await page.getByText('No backups yet.').waitFor();
    await stage.press('Back up now');
    await page
      .getByRole('cell', { name: 'coffer-' })
      .or(page.getByRole('rowheader', { name: 'coffer-' }))
      .waitFor();
    await stage.checkView('operations-backups');
    expect(readdirSync(folder).filter((name) => name.endsWith('.sqlite3'))).toHaveLength(1);
  });

  it('is used with the keyboard alone.', async () => {
    const { page, visitor } = stage;
    logger.warn('A line for the keyboard');
    await visitor.signIn('alice');
    await visitor.search('operations: log');
    await page.getByRole('option', { name: /^Operations: log/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('listitem').filter({ hasText: 'A line for the keyboard' }).waitFor();
    await page.getByLabel('Level').focus();
    await page.keyboard.press('w');
    await page.waitForURL(/_level=warn/);
    const controls = [
      page.getByLabel('Find in the loaded lines'),
      page.getByRole('button', { name: 'Follow' }),
      page.getByRole('button', { name: 'Refresh' }),
      page.getByLabel('Requests of these pages'),
    ];
    for (const control of controls) {
      await page.keyboard.press('Tab');
      await expect.poll(() => control.evaluate((element) => element.matches(':focus'))).toBe(true);
    }
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByLabel('The line as JSON').getByText('A line for the keyboard').waitFor();
  });

  it('is accessible in light, in dark and on a phone.', async () => {
    const { alice, visitor } = stage;
    await stage.store({ bread: `{"text":"${'x'.repeat(500)}"}` });
    await alice.request('PUT', `/v1/buckets/${'k'.repeat(120)}`);
    logger.error({ note: hostile }, `${'word '.repeat(60)}${'x'.repeat(300)}`);
    await alice.request('GET', `${collection}/records?_sort=${'n'.repeat(300)}`);
    await visitor.signIn('alice');
    const tabs = ['overview', 'log', 'slow', 'webhooks', 'quotas', 'backups'];
    await expectGoodViews(visitor, [...tabs.map((tab) => view(tab)), view('settings', '&_changed=1')]);
  });
});

describe('The operating area of the console, in memory and with a webhook', () => {
  const webhook = {
    use: 'webhook',
    secret: 'a-secret-of-sixteen-bytes-or-more',
    max_attempts: '1',
    allow_private: 'true',
  };
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await Receiver.start();
    receiver.answer = () => 503;
  });
  afterEach(() => receiver.close());
  const stage = setStage(() => ({
    includes: 'admin operations',
    ...everyone,
    event_listeners: 'hook',
    ...Object.fromEntries(
      Object.entries({ ...webhook, url: receiver.url, resources: 'record' }).map(([name, value]) => [
        `event_listeners.hook.${name}`,
        value,
      ]),
    ),
  }));

  /** Waits until this many deliveries have failed. */
  async function fail(count: number): Promise<void> {
    await receiver.received(count);
    await expect
      .poll(async () => (await stage.alice.request('GET', '/v1/operations/webhooks')).body)
      .toMatchObject({ data: [{ failed: count, pending: 0 }] });
  }

  /** Creates records one by one, because a batch is one event. */
  async function create(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await stage.alice.request('PUT', `${collection}/records/${id}`);
  }

  const failed = (): Locator =>
    part(stage, 'Failed deliveries of hook').getByRole('row').filter({ hasText: 'create kitchen' });

  it('sends failed deliveries again, one or all, and deletes one or all.', async () => {
    const { page, visitor } = stage;
    await create('a', 'b', 'c', 'd', 'e');
    await fail(5);
    await visitor.signIn('alice');
    await visitor.go(view('webhooks'));
    await expect.poll(() => failed().count()).toBe(5);
    await stage.checkView('operations-webhooks');

    receiver.answer = () => 204;
    await stage.press('Send again: create kitchen / recipes / a');
    await stage.press('Cancel');
    expect(await failed().count()).toBe(5);
    await stage.press('Send again: create kitchen / recipes / a');
    await stage.checkView('operations-webhooks-retry');
    await stage.press('Send again');
    await stage.status('1 delivery of hook will be sent again.');
    const [, , , , , again] = await receiver.received(6);
    expect(again?.json.payload['uri']).toBe(`${collection.slice(3)}/records/a`);
    await expect.poll(() => failed().count()).toBe(4);

    await stage.press('Delete: create kitchen / recipes / b');
    await stage.press('Delete');
    await stage.status('1 delivery of hook deleted.');
    await expect.poll(() => failed().count()).toBe(3);

    await stage.press('Send all again');
    await stage.press('Send again');
    await stage.status('3 deliveries of hook will be sent again.');
    await receiver.received(9);
    await page.getByText('No delivery has failed.').waitFor();

    receiver.answer = () => 500;
    await create('f', 'g');
    await receiver.received(11);
    await expect
      .poll(async () => (await stage.alice.request('GET', '/v1/operations/webhooks')).text)
      .toContain('"failed":2');
    await stage.press('Refresh');
    await stage.press('Delete all');
    await page.getByLabel('Type hook to continue').fill('hook');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click();
    await stage.status('2 deliveries of hook deleted.');
    await page.getByText('No delivery has failed.').waitFor();
    expect(receiver.deliveries).toHaveLength(11);
  });

  it('names the command that backs up what the service cannot.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(view('backups'));
    await page.getByText('The backend memory is backed up with').getByText('coffer export <file>').waitFor();
    expect(await page.getByRole('button', { name: 'Back up now' }).count()).toBe(0);
  });
});
