// Reviews of signed collections in the console: differences, requests, approvals, refusals, and permitted actions.
import { afterAll, expect, it } from 'vitest';
import type { TestClient } from '../../src/testing/index.ts';
import { createKeys } from '../support/signing.ts';
import { describeConsole, type Stage } from './stage.ts';

const source = '/v1/buckets/staging/collections/limits';
const view = '#/buckets/staging/collections/limits?_tab=review';
const hostile = '<img src=x onerror=alert(1)>';
const keys = createKeys();
const settings = {
  includes: 'admin signer',
  'signer.resources': '/buckets/staging -> /buckets/preview -> /buckets/main',
  'signer.to_review_enabled': 'true',
  ...keys.settings,
};

async function fill({ service }: Stage): Promise<void> {
  const ed = service.asUser('ed');
  const rae = service.asUser('rae');
  const { body } = await rae.request('GET', '/v1/');
  const { id } = (body as { readonly user: { readonly id: string } }).user;
  await ed.request('PUT', '/v1/buckets/staging', { body: { permissions: { read: ['system.Authenticated'] } } });
  await ed.request('PUT', source);
  const members = { data: { members: [id] } };
  await ed.request('PATCH', '/v1/buckets/staging/groups/limits-reviewers', { body: members });
  await put(ed, 'upload', { megabytes: 25 });
  await put(ed, 'old', { megabytes: 1 });
  await set(ed, 'to-review');
  await set(rae, 'to-sign');
  expect(await statusOf(ed)).toBe('signed');
}

async function put(client: TestClient, id: string, data: object): Promise<void> {
  const { status } = await client.request('PUT', `${source}/records/${id}`, { body: { data } });
  expect(status).toBeLessThan(300);
}

async function set(client: TestClient, to: string): Promise<void> {
  expect((await client.request('PATCH', source, { body: { data: { status: to } } })).status).toBe(200);
}

async function attributesOf(client: TestClient): Promise<Readonly<Record<string, unknown>>> {
  return ((await client.request('GET', source)).body as { readonly data: Readonly<Record<string, unknown>> }).data;
}

async function statusOf(client: TestClient): Promise<unknown> {
  return (await attributesOf(client))['status'];
}

afterAll(() => keys.remove());

describeConsole('Reviews in the console', { settings, fill }, (stage) => {
  const ed = (): TestClient => stage.service.asUser('ed');
  const isDisabled = (name: string): Promise<boolean> =>
    stage.page.getByRole('button', { name, exact: true }).isDisabled();
  const published = async (id: string): Promise<number> =>
    (await stage.service.request('GET', `/v1/buckets/main/collections/limits/records/${id}`)).status;

  /** Changes records as an editor: one is new, one differs, one is gone. */
  async function edit(): Promise<void> {
    await put(ed(), 'new', { note: hostile });
    await put(ed(), 'upload', { megabytes: 50 });
    await ed().request('DELETE', `${source}/records/old`);
  }

  it('shows what would be published, and requests and approves a review.', async () => {
    const { page, visitor } = stage;
    await edit();
    await visitor.signIn('ed');
    await visitor.go(view);
    await page.getByText('1 added, 1 changed, 1 removed').waitFor();
    const difference = page.getByRole('region', { name: 'Difference of upload' });
    expect(await difference.locator('.removed').innerText()).toContain('"megabytes": 25');
    expect(await difference.locator('.added').innerText()).toContain('"megabytes": 50');
    await page.getByRole('region', { name: 'Difference of new' }).getByText(hostile).waitFor();
    await page.getByLabel('Comment').fill('50 is enough');
    await stage.press('Request review');
    await page.locator('.badge').getByText('to-review', { exact: true }).waitFor();
    expect(await attributesOf(ed())).toMatchObject({ status: 'to-review', last_editor_comment: '50 is enough' });
    // The user who requested the review cannot approve it.
    await expect.poll(() => isDisabled('Approve and sign')).toBe(true);
    expect(await published('new')).toBe(404);

    await stage.press('Sign out');
    await visitor.signIn('rae');
    await visitor.go(view);
    await page.getByText('50 is enough').waitFor();
    const rights = page.getByRole('region', { name: 'Permitted actions' }).first();
    await expect.poll(() => rights.getByRole('row').nth(1).innerText()).toMatch(/limits-editors \(1\)\s+no$/);
    await expect.poll(() => rights.getByRole('row').nth(2).innerText()).toMatch(/review\s+yes$/);
    await stage.press('Approve and sign');
    await page.locator('.badge').getByText('signed', { exact: true }).waitFor();
    await page.getByText('The destination has the same records.').waitFor();
    expect([await statusOf(ed()), await published('new'), await published('old')]).toEqual(['signed', 200, 404]);
  });

  it('declines with a comment, and rolls back after a question.', async () => {
    const { page, visitor } = stage;
    await edit();
    await set(ed(), 'to-review');
    await visitor.signIn('rae');
    await visitor.go(view);
    await page.getByLabel('Comment').fill('Too much');
    await stage.press('Decline');
    await page.locator('.badge').getByText('work-in-progress', { exact: true }).waitFor();
    expect(await attributesOf(ed())).toMatchObject({ status: 'work-in-progress', last_reviewer_comment: 'Too much' });
    expect(await isDisabled('Request review')).toBe(true);
    await stage.press('Roll back');
    await stage.press('Keep the changes');
    expect(await statusOf(ed())).toBe('work-in-progress');
    await stage.press('Roll back');
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await page.locator('.badge').getByText('signed', { exact: true }).waitFor();
    expect((await ed().request('GET', `${source}/records/old`)).status).toBe(200);
    expect(await isDisabled('Sign again')).toBe(false);
  });

  it('approves only what was seen.', async () => {
    const { page, visitor } = stage;
    await edit();
    await set(ed(), 'to-review');
    await visitor.signIn('rae');
    await visitor.go(view);
    await page.getByText('1 added, 1 changed, 1 removed').waitFor();
    await put(ed(), 'later', { n: 1 });
    await set(ed(), 'to-review');
    await stage.press('Approve and sign');
    await page.getByRole('alert').getByText('The collection has changed in the meantime.').waitFor();
    await page.getByText('2 added, 1 changed, 1 removed').waitFor();
    expect([await statusOf(ed()), await published('later')]).toEqual(['to-review', 404]);
  });

  it('shows readers the status, and no actions that the service would refuse.', async () => {
    const { page, visitor } = stage;
    await edit();
    await visitor.signIn('zoe');
    await visitor.go(view);
    await page.getByText('You have no permission to change the status of this collection.').waitFor();
    await page.getByText('1 added, 1 changed, 1 removed').waitFor();
    for (const name of ['Request review', 'Roll back'])
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
    const answers = page.getByRole('region', { name: 'Permitted actions' }).first().locator('tbody td:last-child');
    expect(await answers.allInnerTexts()).toEqual(['no', 'no', 'no', 'no', 'no']);
    await stage.checkView('review-reader');
  });

  it('is shown for sources only.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('ed');
    await visitor.go('#/buckets/main/collections/limits');
    await page.getByRole('navigation', { name: 'Parts' }).waitFor();
    expect(await page.getByRole('link', { name: 'Review', exact: true }).count()).toBe(0);
  });

  it('is accessible in light, in dark and on a phone.', async () => {
    const { visitor } = stage;
    await edit();
    await visitor.signIn('ed');
    await stage.checkViews([view]);
  });
});
