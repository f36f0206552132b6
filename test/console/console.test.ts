// The web console in a real browser, as users use it (docs/guides/admin.md).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { openBrowser, Visitor } from './visitor.ts';

const collection = '/v1/buckets/kitchen/collections/recipes';
const collectionView = '#/buckets/kitchen/collections/recipes';
const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';

describe('The console in a browser', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-console-'));
  let browser: Browser;
  let service: TestService;
  let alice: TestClient;
  let visitor: Visitor;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    const includes = 'admin history attachments';
    service = await startTestService({ settings: { includes, 'attachment.base_path': path.join(folder, 'files') } });
    alice = service.asUser('alice');
    visitor = await Visitor.come(browser, service);
    ({ page } = visitor);
  });
  afterEach(async () => {
    const { faults } = visitor;
    await visitor.leave();
    await service.close();
    expect(faults).toEqual([]);
  });

  const text = (content: string) => page.getByText(content, { exact: true });
  const status = (content: string): Promise<void> => page.getByRole('status').getByText(content).waitFor();
  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const editor = () => page.getByLabel('Attributes (JSON)').last();

  async function makeRecords(records: Readonly<Record<string, string>>): Promise<void> {
    await alice.request('PUT', '/v1/buckets/kitchen');
    await alice.request('PUT', collection);
    for (const [id, data] of Object.entries(records)) {
      const headers = { 'Content-Type': 'application/json' };
      const { status: answered } = await alice.request('PUT', `${collection}/records/${id}`, {
        raw: `{"data":${data}}`,
        headers,
      });
      expect(answered).toBe(201);
    }
  }

  const recordText = async (id: string): Promise<string> =>
    (await alice.request('GET', `${collection}/records/${id}`)).text;

  it('signs in, and makes a bucket, a collection and a record.', async () => {
    await visitor.signIn('alice');
    await text('No buckets are visible to you yet. Create one above.').waitFor();
    for (const [kind, id] of [
      ['bucket', 'kitchen'],
      ['collection', 'recipes'],
      ['record', 'bread'],
    ] as const) {
      await text(`New ${kind}`).click();
      await page.getByLabel('Id', { exact: true }).fill(id);
      if (kind === 'record') await editor().fill('{"title": "Bread", "__proto__": 1.0}');
      await press(`Create ${kind}`);
      await page.getByRole('heading', { level: 1, name: `${kind} ${id}` }).waitFor();
    }
    expect(await recordText('bread')).toContain('"data":{"title":"Bread","__proto__":1.0,"id":"bread"');
    // What exists is not written over.
    await visitor.go(collectionView);
    await text('New record').click();
    await page.getByLabel('Id', { exact: true }).fill('bread');
    await editor().fill('{}');
    await press('Create record');
    await page.getByRole('alert').getByText('A record with this id already exists.').waitFor();
  });

  it('keeps the session in the tab until the user signs out.', async () => {
    await visitor.signIn('alice');
    await page.reload();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    await press('Sign out');
    await page.getByLabel('Password').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('changes one attribute and leaves all others as they are, to the last digit.', async () => {
    await makeRecords({
      odd: String.raw`{"__proto__":{"x":[]},"big":12345678901234567890.10,"e":"\u00e9","title":"old"}`,
    });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/odd`);
    await editor().fill((await editor().inputValue()).replace('"old"', '"new"'));
    await editor().press('Control+s');
    await status('Saved.');
    expect(await recordText('odd')).toContain(
      '"data":{"__proto__":{"x":[]},"big":12345678901234567890.10,"e":"é","title":"new"',
    );
    await editor().fill('{"title": }');
    await press('Save');
    await page.getByRole('alert').getByText('This is not valid JSON').waitFor();
    await press('Undo changes');
    expect(await editor().inputValue()).toContain('"big": 12345678901234567890.10,');
  });

  it('shows both versions after a conflicting change, and lets the user choose.', async () => {
    await makeRecords({ bread: '{"title":"first"}' });
    const record = `${collection}/records/bread`;
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);

    await alice.request('PUT', record, { body: { data: { title: 'theirs' } } });
    await editor().fill('{"title": "mine"}');
    await press('Save');
    const dialog = page.getByRole('dialog', { name: 'Another user has changed this object' });
    await dialog.getByText('"title": "theirs"').waitFor();
    await dialog.getByText('"title": "mine"').waitFor();
    await page.keyboard.press('Escape');
    expect(await editor().inputValue()).toBe('{"title": "mine"}');
    await press('Save');
    await press('Overwrite with mine');
    await status('Saved.');
    expect(await recordText('bread')).toContain('"title":"mine"');

    await alice.request('DELETE', record);
    await editor().fill('{"title": "again"}');
    await press('Save');
    await dialog.getByText('It was deleted.').waitFor();
    await press('Create it again with mine');
    await expect.poll(() => recordText('bread')).toContain('"title":"again"');

    // Indented: shown anew, as it is stored.
    await expect.poll(() => editor().inputValue()).toBe('{\n  "title": "again"\n}');
    await alice.request('PUT', record, { body: { data: { title: 'better' } } });
    await editor().fill('{"title": "worse"}');
    await press('Save');
    await press('Keep theirs');
    await expect.poll(() => editor().inputValue()).toContain('"better"');
  });

  it('pages, sorts and filters records.', async () => {
    const numbers = Array.from({ length: 30 }, (_value, index) => index);
    await makeRecords(
      Object.fromEntries(numbers.map((n) => [`r${n}`, `{"n":${n},"kind":"${n % 3 === 0 ? 'a' : 'b'}"}`])),
    );
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    const firstCell = () => page.getByRole('row').nth(1).getByRole('cell').first().textContent();
    await text('30 records').waitFor();
    await page.getByRole('columnheader', { name: 'n', exact: true }).getByRole('link').click();
    await expect.poll(firstCell).toBe('0');
    await press('Next');
    await text('Page 2').waitFor();
    expect([await firstCell(), await page.getByRole('row').count()]).toEqual(['25', 6]);
    await press('Previous');
    await text('Page 1').waitFor();
    await page.getByRole('columnheader', { name: 'n', exact: true }).getByRole('link').click();
    await expect.poll(firstCell).toBe('29');
    await page.locator('body').press('/');
    await page.keyboard.type('kind');
    await page.getByLabel('Value').fill('a');
    await page.keyboard.press('Enter');
    await text('10 records').waitFor();
    expect(await firstCell()).toBe('27');
    await page.getByRole('button', { name: 'Remove: kind is a' }).click();
    await text('30 records').waitFor();
  });

  it('shows what others change, without a reload.', async () => {
    await makeRecords({ bread: '{"title":"Bread"}' });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await text('1 record').waitFor();
    const followed = page.waitForRequest((request) => request.url().includes('_live=sse'));
    await alice.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Soup' } } });
    await page.getByRole('cell', { name: 'Soup', exact: true }).waitFor();
    await followed;
    await alice.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Tomato soup' } } });
    await page.getByRole('cell', { name: 'Tomato soup', exact: true }).waitFor();
    await page.getByRole('link', { name: 'soup' }).click();
    await page.getByRole('heading', { level: 1, name: 'record soup' }).waitFor();
    await alice.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Hot soup' } } });
    await visitor.lookAgain();
    await press('Show the current version');
    await expect.poll(() => editor().inputValue()).toContain('"Hot soup"');
  });

  it('polls lists of services without live updates.', async () => {
    const other = await startTestService({ settings: { includes: 'admin', live_max_streams: '0' } });
    const guest = await Visitor.come(browser, other);
    try {
      const writer = other.asUser('alice');
      await writer.request('PUT', '/v1/buckets/kitchen');
      await writer.request('PUT', collection);
      await guest.signIn('alice');
      await guest.go(collectionView);
      await guest.page.getByText('0 records', { exact: true }).waitFor();
      await writer.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Soup' } } });
      await guest.lookAgain();
      await guest.page.getByRole('cell', { name: 'Soup', exact: true }).waitFor();
      expect(guest.faults).toEqual([]);
    } finally {
      await guest.leave();
      await other.close();
    }
  });

  it('changes permissions.', async () => {
    await makeRecords({});
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=permissions`);
    await page.getByLabel('read', { exact: true }).fill('account:bob\n\n  account:zoe ');
    await page.getByRole('button', { name: 'Add everyone', exact: true }).nth(2).click();
    await press('Save permissions');
    await status('Permissions saved.');
    const { body } = await alice.request('GET', collection);
    expect(body).toMatchObject({
      permissions: { read: ['account:bob', 'account:zoe'], 'record:create': ['system.Everyone'] },
    });
  });

  it('hints at principals that name nothing, and saves them all the same.', async () => {
    await makeRecords({});
    await alice.request('PUT', '/v1/buckets/kitchen/groups/cooks');
    const gone = '/buckets/kitchen/groups/gone';
    await alice.request('PATCH', collection, { body: { permissions: { read: [gone] } } });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=permissions`);
    await text(`${gone} names a group that does not exist.`).waitFor();
    const named = ['system.Everyone', '/buckets/kitchen/groups/cooks', `basicauth:${'a1'.repeat(32)}`, 'account:bob'];
    const doubted = ['alice', 'basicauth:bob', 'system.Nobody', '/buckets/kitchen', hostile];
    await page.getByLabel('read', { exact: true }).fill([...named, ...doubted].join('\n'));
    await page.getByLabel('write', { exact: true }).click();
    await text('alice lacks the prefix of user ids, such as account: or basicauth:.').waitFor();
    const shown = await page.locator('.doubts').first().locator('p').allTextContents();
    expect(shown.map((line) => doubted.find((principal) => line.startsWith(`${principal} `)))).toEqual(doubted);
    await press('Save permissions');
    await status('Permissions saved.');
    await text('system.Nobody is neither system.Everyone nor system.Authenticated.').waitFor();
  });

  it('deletes after a question, and what holds others after a word.', async () => {
    await makeRecords({ bread: '{}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await press('Delete this record');
    await press('Keep it');
    expect((await alice.request('GET', `${collection}/records/bread`)).status).toBe(200);
    await press('Delete this record');
    await press('Delete');
    await text('No records are visible to you here.').waitFor();
    expect((await alice.request('GET', `${collection}/records/bread`)).status).toBe(404);
    await visitor.go('#/buckets/kitchen?_tab=attributes');
    await press('Delete this bucket');
    expect(await page.getByRole('button', { name: 'Delete everything' }).isDisabled()).toBe(true);
    await page.getByLabel('Type kitchen to continue').fill('kitchen');
    await press('Delete everything');
    await page.getByRole('heading', { level: 1, name: 'Buckets' }).waitFor();
    expect((await alice.request('GET', '/v1/buckets')).body).toEqual({ data: [] });
  });

  it('asks before it leaves what has not been saved.', async () => {
    await makeRecords({ bread: '{}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await editor().fill('{"half": true}');
    await page.getByRole('link', { name: 'recipes' }).click();
    await press('Stay');
    await press('Sign out');
    await press('Stay');
    await alice.request('PUT', `${collection}/records/bread`, { body: { data: { title: 'theirs' } } });
    await visitor.lookAgain();
    await press('Show the current version');
    await press('Stay');
    expect(await editor().inputValue()).toBe('{"half": true}');
    await page.getByRole('link', { name: 'recipes' }).click();
    await press('Leave');
    await page.getByRole('heading', { level: 1, name: 'collection recipes' }).waitFor();
  });

  it('shows markup in data as text, everywhere.', async () => {
    const value = JSON.stringify(hostile);
    await makeRecords({ evil: `{"title":${value},${value}:1}` });
    await alice.request('PUT', collection, { body: { data: { displayFields: ['title', hostile] } } });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await page.getByRole('cell', { name: hostile }).waitFor();
    await page.getByRole('columnheader', { name: hostile }).waitFor();
    await visitor.go(`${collectionView}?like_title=${encodeURIComponent(hostile)}`);
    await text('1 record').waitFor();
    await visitor.go(`${collectionView}/records/evil?_tab=history`);
    await page.locator('summary').first().click();
    await page.locator('pre').getByText(hostile).first().waitFor();
    await visitor.go(`${collectionView}/records/${encodeURIComponent(hostile)}`);
    await page.getByRole('heading', { level: 1, name: hostile }).waitFor();
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('stores, fetches and deletes the file of a record.', async () => {
    await makeRecords({ bread: '{}' });
    const file = path.join(folder, 'note.txt');
    writeFileSync(file, 'flour and water');
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread?_tab=file`);
    await text('This record has no file.').waitFor();
    await page.getByLabel('Choose a file').setInputFiles(file);
    await press('Upload');
    await page.getByText('text/plain, 15 bytes').waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), press('Download note.txt')]);
    expect(download.suggestedFilename()).toBe('note.txt');
    await press('Delete the file');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the file' }).click();
    await text('This record has no file.').waitFor();
  });

  it('shows images that only the user may read, by an address that works for others only for a while.', async () => {
    await makeRecords({ bread: '{}' });
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const file = path.join(folder, 'pixel.png');
    writeFileSync(file, Buffer.from(pixel, 'base64'));
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread?_tab=file`);
    await page.getByLabel('Choose a file').setInputFiles(file);
    await press('Upload');
    const image = page.getByAltText('Preview of pixel.png');
    await image.waitFor();
    await page.waitForFunction(`document.querySelector('.preview img')?.naturalWidth === 1`);
    const address = new URL((await image.getAttribute('src'))!);
    expect(address.search).toMatch(/^\?expires=\d+&signature=/);
    expect((await service.request('GET', address.pathname)).status).toBe(401);
    expect((await service.request('GET', address.pathname + address.search)).status).toBe(200);
  });

  it('says in words what is not allowed, and shows visitors what is.', async () => {
    await makeRecords({ bread: '{"title":"Bread"}' });
    await alice.request('PATCH', collection, { body: { permissions: { read: ['system.Everyone'] } } });
    await text('Other ways').click();
    await press('Continue without signing in');
    await page.getByLabel('Open a bucket by its id').fill('kitchen');
    await press('Open');
    await page.getByRole('alert').getByText('You are not signed in').first().waitFor();
    await page.getByRole('link', { name: 'recipes' }).click();
    await page.getByRole('link', { name: 'bread' }).click();
    await editor().fill('{}');
    await press('Save');
    await page.getByRole('alert').getByText('You are not signed in').waitFor();
    expect(await recordText('bread')).toContain('"title":"Bread"');
  });
});
