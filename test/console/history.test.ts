// The history in the console: the time line, differences, filters, restored versions and undone changes.
import { expect, it } from 'vitest';
import { collection, collectionView, hostile, describeConsole } from './stage.ts';

describeConsole('The history in the console', {}, (stage) => {
  /** Opens an entry of the time line, counted from the newest. */
  const openEntry = async (index: number): Promise<void> => {
    await stage.page.locator('.history summary').nth(index).click();
    await stage.page.locator('.change').first().waitFor();
  };

  it('shows the difference of each change, and restores a version.', async () => {
    const { alice, page, visitor } = stage;
    const record = `${collection}/records/bread`;
    await stage.store({ bread: '{"title":"First","n":12345678901234567890.10}' });
    await alice.request('PATCH', record, { body: { data: { title: hostile } } });
    await alice.request('PATCH', record, { body: { permissions: { read: ['account:bob'] } } });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread?_tab=history`);
    await openEntry(0);
    await page.getByText('The attributes did not change.').waitFor();
    await page.getByRole('region', { name: 'Permissions' }).getByText('read: account:bob').waitFor();
    await page.locator('.history summary').nth(0).click();
    await openEntry(1);
    const difference = page.getByRole('region', { name: 'Attributes' });
    await difference.locator('.removed').getByText('"title": "First"').waitFor();
    await difference.locator('.added').getByText(hostile).waitFor();
    await stage.checkView('history');
    await page.locator('.history summary').nth(1).click();
    await openEntry(2);
    await stage.press('Restore this version');
    await page.getByRole('dialog').getByText('"title": "First"').waitFor();
    await stage.checkView('restore');
    await stage.press('Restore attributes');
    await stage.status('The version is restored.');
    expect(await stage.recordText('bread')).toContain('"n":12345678901234567890.10');
    expect(await stage.recordText('bread')).toContain('"title":"First"');
    expect(await stage.recordText('bread')).toContain('account:bob');
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('shows changes by others as they are made, also with a filter.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"n":1}' });
    await visitor.signIn('alice');
    const followed = page.waitForRequest((request) => /\/history\?.*_live=sse/.test(request.url()));
    await visitor.go(`${collectionView}/records/bread?_tab=history&_action=update`);
    await page.getByText('No changes match these filters.').waitFor();
    await followed;
    await alice.request('PATCH', `${collection}/records/bread`, { body: { data: { n: 2 } } });
    await page.locator('.history summary').first().waitFor();
  });

  it('undoes one change and keeps later ones, and asks where a later one touched the same attribute.', async () => {
    const { alice, page, visitor } = stage;
    const record = `${collection}/records/bread`;
    await stage.store({ bread: '{"a":1.0,"b":1}' });
    await alice.request('PATCH', record, { body: { data: { a: 2, b: 2 }, permissions: { read: ['account:bob'] } } });
    await alice.request('PATCH', record, { body: { data: { b: 3, c: 3 }, permissions: { write: ['account:zoe'] } } });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread?_tab=history`);
    await openEntry(1);
    await stage.press('Undo this change');
    const dialog = page.getByRole('dialog', { name: 'Undo this change' });
    expect(await dialog.getByRole('button', { name: 'Undo the change' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Now: b').check();
    await stage.press('Undo the change');
    await stage.status('The change is undone.');
    const { body } = await alice.request('GET', record);
    expect(body).toMatchObject({ data: { a: 1, b: 3, c: 3 } });
    const { read = [], write = [] } = (body as { permissions: Record<string, readonly string[]> }).permissions;
    expect([read, write.includes('account:zoe')]).toEqual([[], true]);
    expect(await stage.recordText('bread')).toContain('"a":1.0');
  });

  it('restores a deleted record, and undoes a creation.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"n":1.50}', soup: '{}' });
    await alice.request('DELETE', `${collection}/records/bread`);
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=history&_action=delete`);
    await openEntry(0);
    await stage.press('Undo this change');
    await page.getByRole('dialog').getByText('The object was deleted, and is created again.').waitFor();
    await stage.press('Restore attributes');
    await stage.status('The version is restored.');
    expect(await stage.recordText('bread')).toContain('"n":1.50');
    await visitor.go(`${collectionView}/records/soup?_tab=history`);
    await openEntry(0);
    await stage.press('Undo this change');
    await stage.press('Delete');
    await expect.poll(async () => (await alice.request('GET', `${collection}/records/soup`)).status).toBe(404);
  });

  it('shows readers changes, and no actions that the service would refuse.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"n":1}', soup: '{}' });
    await alice.request('PATCH', `${collection}/records/bread`, { body: { data: { n: 2 } } });
    await alice.request('DELETE', `${collection}/records/soup`);
    await alice.request('PATCH', '/v1/buckets/kitchen', { body: { permissions: { read: ['system.Authenticated'] } } });
    await visitor.signIn('bob');
    const restore = page.getByRole('button', { name: 'Restore this version' });
    const undo = page.getByRole('button', { name: 'Undo this change' });
    for (const view of [`${collectionView}/records/bread?_tab=history`, `${collectionView}?_tab=history`]) {
      await visitor.go(view);
      await openEntry(0);
      await page.getByText('You have no permission to change this record.').waitFor();
      expect([await restore.count(), await undo.count()]).toEqual([0, 0]);
    }
    await stage.checkView('history-reader');
    const permissions = { 'record:create': ['system.Authenticated'] };
    await alice.request('PATCH', collection, { body: { permissions } });
    await visitor.go('#/buckets/kitchen?_tab=history&_action=delete');
    await openEntry(0);
    await undo.waitFor();
    await stage.press('Undo this change');
    await stage.press('Restore attributes');
    await stage.status('The version is restored.');
    await alice.request('PATCH', `${collection}/records/bread`, {
      body: { permissions: { write: ['system.Authenticated'] } },
    });
    await visitor.go(`${collectionView}/records/bread?_tab=history`);
    await openEntry(0);
    await undo.waitFor();
  });

  it('shows new changes in all buckets when the user returns to the window.', async () => {
    const { alice, page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go('#/history');
    await page.locator('.history summary').first().waitFor();
    await alice.request('PUT', '/v1/buckets/pantry');
    await visitor.lookAgain();
    await page.getByTitle('/buckets/pantry', { exact: true }).waitFor();
  });

  it('shows the changes of a user in all buckets, page by page.', async () => {
    const { alice, service, page, visitor } = stage;
    const bob = service.asUser('bob');
    await bob.request('PUT', '/v1/buckets/attic', { body: { permissions: { read: ['system.Authenticated'] } } });
    await bob.request('PUT', '/v1/buckets/cellar');
    await alice.request('PUT', '/v1/buckets/garden', { body: { permissions: { write: ['system.Authenticated'] } } });
    await bob.request('PUT', '/v1/buckets/garden/collections/beds', { body: { data: { soil: hostile } } });
    await stage.storeMany(25);
    await visitor.signIn('alice');
    await page.getByRole('link', { name: 'History', exact: true }).click();
    const entries = page.locator('.history summary');
    await expect.poll(() => entries.count()).toBe(20);
    await page.getByRole('link', { name: 'Earlier changes' }).click();
    await expect.poll(() => entries.count()).toBe(10);
    await page.getByTitle('/buckets/attic', { exact: true }).waitFor();
    // The history of a bucket that the user may not read.
    expect(await page.getByTitle('/buckets/cellar').count()).toBe(0);
    await page.getByRole('link', { name: 'Newest changes' }).click();
    await expect.poll(() => entries.count()).toBe(20);

    await visitor.go('#/buckets/garden?_tab=history');
    await page.locator('.history summary').filter({ hasText: 'collections/beds' }).click();
    await page.getByRole('link', { name: 'in all buckets' }).click();
    await stage.heading('History of all buckets');
    await expect.poll(() => entries.count()).toBe(2);
    await entries.first().click();
    await page.getByRole('region', { name: 'Attributes' }).getByText(hostile).waitFor();
    await stage.checkView('history-all');
    await page.getByRole('link', { name: 'Open the collection' }).click();
    await stage.heading('collection beds');

    await visitor.go('#/history');
    await page.getByRole('combobox', { name: 'User' }).focus();
    await page.getByRole('option', { name: /anonymous users$/ }).click();
    await stage.press('Show');
    await page.getByText('No changes match.').waitFor();
    expect(new URL(page.url()).hash).toBe('#/history?_user=null');
  });

  it('filters by user, action and time, and keeps the filters in the address.', async () => {
    const { alice, service, page, visitor } = stage;
    const bob = service.asUser('bob');
    const { body } = await bob.request('GET', '/v1/');
    const bobId = (body as { user: { id: string } }).user.id;
    await alice.request('PATCH', '/v1/buckets/kitchen', { body: { permissions: { write: [bobId] } } });
    await stage.store({ bread: '{}', soup: '{}' });
    await bob.request('PUT', `${collection}/records/cake`, { body: { data: {} } });
    await visitor.signIn('alice');
    await visitor.go('#/buckets/kitchen?_tab=history');
    const entries = page.locator('.history li');
    await expect.poll(() => entries.count()).toBe(6);
    await openEntry(0);
    await page.getByRole('link', { name: 'Changes of this user' }).click();
    await expect.poll(() => entries.count()).toBe(1);
    expect(new URL(page.url()).hash).toContain(`_user=${encodeURIComponent(bobId)}`);
    await page.reload();
    await expect.poll(() => entries.count()).toBe(1);
    await stage.press('Show all');
    await expect.poll(() => entries.count()).toBe(6);
    await page.getByLabel('Change', { exact: true }).selectOption('update');
    await stage.press('Show');
    await expect.poll(() => entries.count()).toBe(1);
    await page.getByLabel('Change', { exact: true }).selectOption('');
    await page.getByLabel('From', { exact: true }).fill('2199-01-01T00:00');
    await stage.press('Show');
    await page.getByText('No changes match these filters.').waitFor();
    await page.getByLabel('From', { exact: true }).fill('2001-01-01T00:00');
    await page.getByLabel('User', { exact: true }).fill('null');
    await stage.press('Show');
    await page.getByText('No changes match these filters.').waitFor();
    await stage.checkView('history-filter');
  });
});
