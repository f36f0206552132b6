// Who sees the operating area of the console, and what it says to others.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { testBackends } from '../../src/testing/index.ts';
import { setStage } from './stage.ts';

const sqlite = testBackends.find(({ name }) => name === 'sqlite');
const view = (tab: string): string => `#/operations?_tab=${tab}`;

describe('The operating area of the console, for readers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-console-'));
  const stage = setStage(
    { includes: 'admin operations', operations_read_principals: 'system.Everyone', operations_backup_folder: folder },
    { ...sqlite },
  );
  afterAll(() => rmSync(folder, { recursive: true }));

  it('names the setting that allows changes when it refuses them.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(view('backups'));
    await stage.press('Back up now');
    await page.getByRole('alert').getByText('You are not allowed to change this.').waitFor();
    await page.getByText(/^operations_write_principals = basicauth:[\da-f]{64}$/).waitFor();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is listed for anonymous users where everyone is one.', async () => {
    await stage.press('Explore without signing in');
    await stage.page.getByRole('link', { name: 'Operations', exact: true }).click();
    await stage.page.getByText('storage works').waitFor();
  });
});

describe('The operating area of the console, for a group', () => {
  const stage = setStage({
    includes: 'admin operations',
    operations_read_principals: '/buckets/kitchen/groups/operators',
  });

  it('is listed for its members.', async () => {
    const { alice, page, visitor } = stage;
    const { body } = await alice.request('GET', '/v1/');
    const members = [(body as { readonly user: { readonly id: string } }).user.id];
    await alice.request('PUT', '/v1/buckets/kitchen/groups/operators', { body: { data: { members } } });
    await visitor.signIn('alice');
    await page.getByRole('link', { name: 'Operations', exact: true }).click();
    await page.getByText('storage works').waitFor();
  });
});

describe('The operating area of the console, without rights', () => {
  const stage = setStage({ includes: 'admin operations' });

  it('is not listed, and its address names the setting that grants access, and the user.', async () => {
    const { page, visitor } = stage;
    let requests = 0;
    page.on('request', (request) => {
      if (request.url().includes('/v1/operations/')) requests += 1;
    });
    await visitor.signIn('alice');
    await page.getByRole('link', { name: 'kitchen', exact: true }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0);
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: /^New bucket/ }).waitFor();
    expect(await page.getByRole('option', { name: /^Operations/ }).count()).toBe(0);
    await page.keyboard.press('Escape');
    expect(requests).toBe(0);
    for (const tab of ['overview', 'log', 'slow', 'webhooks', 'backups', 'settings']) {
      await visitor.go(view(tab));
      const refusal = page.getByRole('alert').filter({ hasText: 'operations_read_principals' });
      await refusal.getByText(/^operations_read_principals = basicauth:[\da-f]{64}$/).waitFor();
    }
    await stage.checkView('operations-refused');
    await stage.press('Sign out');
    await stage.press('Explore without signing in');
    await page.getByRole('link', { name: 'Buckets', exact: true }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0);
    await visitor.go(view('overview'));
    await page.getByRole('alert').getByText('You are not signed in.').waitFor();
  });
});

describe('The operating area of the console, in a service without it', () => {
  const stage = setStage();

  it('does not exist.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0);
    await visitor.go('#/operations');
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
  });
});
