// Records in the console: text search, duplicates, changes of many records, and the merge of two versions.
import type { Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { collection, collectionView, hostile, describeConsole } from './stage.ts';

describeConsole('Records in the console', {}, (stage) => {
  it('searches the texts of records, or shows how to declare a text index.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({
      a: '{"title":"Green tea"}',
      b: '{"title":"Black coffee"}',
      c: `{"title":${JSON.stringify(`tea ${hostile}`)}}`,
    });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await page.getByText('Text search', { exact: true }).click();
    await page.getByText('This collection has no text index.').waitFor();
    await page.getByRole('group', { name: 'What to search in' }).getByLabel('title').check();
    await stage.press('Declare a text index');
    await stage.status('The text index is declared.');
    await page.getByLabel('Search texts').fill('tea');
    await page.keyboard.press('Enter');
    await page.getByText('2 records', { exact: true }).waitFor();
    expect(new URL(page.url()).hash).toContain('_q=tea');
    await page.getByRole('cell', { name: hostile }).waitFor();
    await alice.request('PUT', `${collection}/records/d`, { body: { data: { title: 'iced tea' } } });
    await page.getByRole('cell', { name: 'iced tea' }).waitFor();
    await page.getByLabel('Search texts').fill('tea -green -iced');
    await stage.press('Search');
    await page.getByText('1 record', { exact: true }).waitFor();
    await page.getByLabel('Search texts').fill('"');
    await stage.press('Search');
    await page.getByRole('alert').waitFor();
    await stage.press('Clear the search');
    await page.getByText('4 records', { exact: true }).waitFor();
    await stage.checkView('records');
  });

  it('combines conditions by OR, and takes them apart again.', async () => {
    const { page, visitor } = stage;
    await stage.store({
      bread: '{"title":"Bread","minutes":90}',
      curry: '{"title":"Curry","minutes":35}',
      soup: '{"title":"Soup","minutes":20}',
      numeral: '{"title":"5","minutes":60}',
    });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    const add = async (field: string, condition: string, value: string): Promise<void> => {
      await page.getByLabel('Field', { exact: true }).fill(field);
      await page.getByLabel('Condition', { exact: true }).selectOption(condition);
      await page.getByLabel('Value', { exact: true }).fill(value);
      await stage.press('Add filter');
      await page.getByRole('button', { name: `Remove: ${field} ${condition} ${value}` }).waitFor();
    };
    const total = (text: string): Promise<void> => page.getByText(text, { exact: true }).waitFor();
    await page.getByText('Filter', { exact: true }).click();
    await add('title', 'contains', 'oup');
    await total('1 record');
    await add('minutes', 'is at least', '60');
    await total('0 records');
    await page.getByLabel('One of the conditions is enough').check();
    await total('3 records');
    await page.getByText('GET /buckets/kitchen/collections/recipes/records?_filter={"$or":').waitFor();
    await add('title', 'is', 'Curry');
    await total('4 records');
    await page.reload();
    await total('4 records');
    expect(await page.getByLabel('One of the conditions is enough').isChecked()).toBe(true);
    await stage.press('Remove: minutes is at least 60');
    await total('2 records');
    // All of them again: no record has both titles.
    await page.getByLabel('One of the conditions is enough').uncheck();
    await total('0 records');
    await stage.press('Remove: title is Curry');
    await total('1 record');
    await page.goBack();
    await total('0 records');
    // A selector that the builder cannot show is kept as text.
    await visitor.go(`${collectionView}?_filter={"minutes":{"$not":{"$eq":90}}}`);
    await total('3 records');
    await stage.press('Remove: {"minutes":{"$not":{"$eq":90}}}');
    await total('4 records');
  });

  it('duplicates a record, with all digits and without its id.', async () => {
    const { page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread","n":1.50}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await page.getByRole('link', { name: 'Duplicate this record' }).click();
    await page.getByText('A copy of bread').waitFor();
    await page.getByLabel('Id', { exact: true }).fill('copy');
    await stage.press('Create record');
    await page.getByRole('heading', { level: 1, name: 'record copy' }).waitFor();
    expect(await stage.recordText('copy')).toContain('"data":{"title":"Bread","n":1.50,"id":"copy"');
    await visitor.go(collectionView);
    await page.getByLabel('Select copy').check();
    await page.getByRole('link', { name: 'Duplicate', exact: true }).click();
    await page.getByText('A copy of copy').waitFor();
  });

  it('sets and removes an attribute of the selected records, and reports those that others have changed.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ a: '{"n":1}', b: '{"n":2}', c: '{"n":3}' });
    await visitor.signIn('alice');
    // Without live updates, so that the selected versions become outdated.
    await page.route('**/*_live=sse*', (route) => route.abort());
    await visitor.go(`${collectionView}?_sort=n`);
    await page.getByLabel('Select all rows of the page').check();
    await alice.request('PATCH', `${collection}/records/b`, { body: { data: { theirs: true } } });
    await stage.press('Edit selected');
    await page.getByLabel('Attribute', { exact: true }).fill('price');
    await page.getByLabel('Kind of value').selectOption('json');
    await page.getByLabel('New value').fill('1,50');
    expect(await page.getByRole('button', { name: 'Set in 3 records' }).isDisabled()).toBe(true);
    await page.getByLabel('New value').fill('12345678901234567890.10');
    await stage.press('Set in 3 records');
    const report = page.getByRole('alert', { name: 'Report' });
    await report.getByText('2 changed, 1 not:').waitFor();
    await report.getByText('b: changed by another user').waitFor();
    await stage.checkView('report');
    expect(await stage.recordText('a')).toContain('"price":12345678901234567890.10');
    expect(await stage.recordText('b')).not.toContain('price');
    await stage.press('Close the report');
    // What stayed is still selected, in its current version.
    await page.getByText('1 selected').waitFor();
    await stage.press('Edit selected');
    await page.getByLabel('Attribute', { exact: true }).fill(hostile);
    await page.getByLabel('New value').fill(hostile);
    await stage.press('Set in 1 record');
    await stage.status('1 record changed.');
    expect(await stage.recordText('b')).toContain(`${JSON.stringify(hostile)}:${JSON.stringify(hostile)}`);
    await page.getByLabel('Select all rows of the page').check();
    await stage.press('Edit selected');
    await page.getByLabel('Change', { exact: true }).selectOption('remove');
    await page.getByLabel('Attribute', { exact: true }).fill('price');
    await stage.press('Remove in 3 records');
    await stage.status('3 records changed.');
    expect(await stage.recordText('a')).not.toContain('price');
  });

  it('grants and revokes a permission of the selected records, and keeps those of others.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ a: '{}', b: '{}' });
    const cooks = '/buckets/kitchen/groups/cooks';
    await alice.request('PUT', `/v1${cooks}`);
    await alice.request('PATCH', `${collection}/records/a`, { body: { permissions: { read: ['account:zoe'] } } });
    const readers = async (id: string): Promise<unknown> => {
      const { body } = await alice.request('GET', `${collection}/records/${id}`);
      const { read = [] } = (body as { permissions: { read?: readonly string[] } }).permissions;
      return read.toSorted();
    };
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await page.getByLabel('Select all rows of the page').check();
    await stage.press('Permissions of selected');
    const add = async (principal: string): Promise<void> => {
      await page.getByRole('combobox', { name: 'Add a principal' }).fill(principal);
      await stage.press('Add');
    };
    await add('nonsense');
    await page.getByText('nonsense lacks the prefix of user ids').waitFor();
    await stage.press('Correct it');
    expect(await page.getByRole('button', { name: 'Grant for 2 records' }).isDisabled()).toBe(true);
    // The next principal is typed while the service still looks for the group.
    const search: Route[] = [];
    await page.route(`**/v1${cooks}`, (route) => void search.push(route));
    await add(cooks);
    await expect.poll(() => search.length).toBe(1);
    const field = page.getByRole('combobox', { name: 'Add a principal' });
    await field.fill('plugin:bob');
    await search[0]!.continue();
    const chosen = page.getByRole('list', { name: 'Principals' });
    await chosen.getByTitle(cooks).waitFor();
    expect(await field.inputValue()).toBe('plugin:bob');
    await stage.press('Add');
    await chosen.getByText('plugin:bob').waitFor();
    await stage.checkView('dialog-permissions');
    await stage.press('Grant for 2 records');
    await stage.status('2 records changed.');
    expect(await readers('a')).toEqual([cooks, 'account:zoe', 'plugin:bob']);
    expect(await readers('b')).toEqual([cooks, 'plugin:bob']);
    await page.getByLabel('Select all rows of the page').check();
    await stage.press('Permissions of selected');
    await page.getByLabel('Change', { exact: true }).selectOption('remove');
    await add(cooks);
    await add('account:zoe');
    await stage.press('Revoke for 2 records');
    await stage.status('2 records changed.');
    // The status may still be that of the grants.
    await expect.poll(async () => [await readers('a'), await readers('b')]).toEqual([['plugin:bob'], ['plugin:bob']]);
  });

  it('reports what was not done when the service goes away, and goes on when it is back.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ a: '{}', b: '{}' });
    await alice.request('PATCH', `${collection}/records/a`, { body: { permissions: { read: ['account:zoe'] } } });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await page.getByLabel('Select all rows of the page').check();
    await page.route('**/v1/batch', (route) => route.abort());
    await stage.press('Delete selected');
    await stage.press('Delete');
    const report = page.getByRole('alert', { name: 'Report' });
    await report.getByText('a: not done. The service cannot be reached.').waitFor();
    await page.unroute('**/v1/batch');
    await stage.press('Delete selected');
    await stage.press('Delete');
    await stage.status('2 records deleted.');
    await page.getByText('0 records', { exact: true }).waitFor();
    await page.getByText('This collection has no records yet.').waitFor();
    await stage.checkView('deleted');
    await stage.press('Undo');
    await stage.status('2 records restored.');
    await page.getByText('2 records', { exact: true }).waitFor();
    expect(await stage.recordText('a')).toContain('"read":["account:zoe"]');
  });

  it('merges two versions of a record by their attributes.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread","n":1.0,"kept":1.50,"gone":true}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    // The heading is shown before the version that the user edits.
    await expect.poll(() => visitor.editorText()).toContain('"gone"');
    await alice.request('PUT', `${collection}/records/bread`, {
      body: { data: { title: 'Their bread', n: 5, kept: 1.5, new: hostile } },
    });
    await visitor.writeEditor('{"title": "My bread", "n": 1.0, "kept": 1.50, "gone": true, "mine": 2.0}');
    await stage.press('Save');
    const dialog = page.getByRole('dialog', { name: 'Another user has changed this object' });
    await dialog.getByText('Both have changed title: choose a value.').waitFor();
    await dialog.getByText(hostile).waitFor();
    expect(await dialog.getByRole('button', { name: 'Save the merged version' }).isDisabled()).toBe(true);
    await stage.checkView('merge');
    await dialog.getByLabel('Yours: title').check();
    await stage.press('Save the merged version');
    await stage.status('Saved.');
    const text = await stage.recordText('bread');
    expect(text).toContain(`"title":"My bread"`);
    expect(text).toContain('"n":5');
    expect(text).toContain('"mine":2.0');
    expect(text).toContain(`"new":${JSON.stringify(hostile)}`);
    expect(text).not.toContain('gone');
  });
});
