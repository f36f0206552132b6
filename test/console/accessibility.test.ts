// Accessibility of the frame, of forms and of dialogs, as axe-core sees it, in light, in dark and on a phone.
import { expect, it } from 'vitest';
import { collection, collectionView, describeConsole } from './stage.ts';

const settings = { experimental_collection_schema_validation: 'true' };
const schema = {
  type: 'object',
  required: ['title'],
  properties: {
    title: { type: 'string', title: 'Title', description: 'As on the menu' },
    price: { type: 'number', default: 0 },
    size: { enum: ['small', 'large'] },
    when: { type: 'string', format: 'date' },
    isReady: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    maker: { type: 'object', properties: { name: { type: 'string', title: 'Maker' } } },
  },
};

describeConsole('The accessibility of the console', { settings }, (stage) => {
  it('has no violations in its views.', async () => {
    const { alice, page, visitor } = stage;
    await stage.storeMany(3);
    await alice.request('PUT', '/v1/buckets/kitchen/groups/cooks');
    const indexes = [{ fields: ['n'] }, { text: ['title', 'body'] }, { text: ['body'] }];
    await alice.request('PATCH', collection, { body: { data: { schema, indexes } } });
    await page.getByLabel('Name').waitFor();
    await stage.checkView('sign-in');
    await visitor.signIn('alice');
    await stage.checkViews([
      '#/',
      '#/?_new=1',
      '#/buckets/kitchen',
      `${collectionView}?_sort=n&min_n=0`,
      `${collectionView}?_tab=attributes`,
      `${collectionView}?_tab=permissions`,
      `${collectionView}?_tab=history`,
      `${collectionView}?_tab=schema`,
      `${collectionView}?_tab=indexes`,
      `${collectionView}?_tab=transfer`,
      `${collectionView}/records/r0`,
      '#/buckets/kitchen/collections/none',
    ]);
  });

  it('has no violations in a form of a schema, also with refused fields.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=records&_new=1`);
    await page.getByLabel('Id', { exact: true }).fill('bread');
    await stage.press('Add to tags');
    await page.getByLabel('price').fill('cheap');
    await stage.press('Create record');
    await page.getByRole('alert').waitFor();
    await stage.checkView('form');
    await page.getByLabel('Title *').fill('Bread');
    await page.getByLabel('price').fill('1.50');
    await page.keyboard.press('Control+s');
    await stage.heading('record bread');
    await page.getByLabel('Maker').waitFor();
    await stage.checkView('form-record');
  });

  it('has no violations in questions and in the quick search.', async () => {
    const { page, visitor } = stage;
    await stage.storeMany(2);
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await visitor.search('rec');
    await page.getByRole('option', { name: /^recipes collection/ }).waitFor();
    await stage.checkView('dialog-search');
    await page.keyboard.press('Escape');
    await stage.press('Columns');
    await page.getByRole('dialog').waitFor();
    await stage.checkView('dialog-columns');
    await page.keyboard.press('Escape');
    await visitor.go(`${collectionView}/records/r0`);
    await stage.press('Delete this record');
    await stage.checkView('dialog-ask');
    await stage.press('Keep it');
    await visitor.go('#/buckets/kitchen?_tab=attributes');
    await stage.press('Delete this bucket');
    await stage.checkView('dialog-word');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('has no violations in suggestions of principals, in conflicts and in merges.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PUT', '/v1/buckets/kitchen/groups/cooks');
    await stage.storeMany(1);
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=permissions`);
    await page.getByRole('combobox', { name: 'Add a principal' }).fill('coo');
    await page.getByRole('option', { name: /cooks/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await stage.checkView('picker');
    await page.keyboard.press('Escape');
    await page.getByRole('combobox', { name: 'Add a principal' }).fill('nonsense');
    await stage.press('Add');
    await page.getByRole('dialog').waitFor();
    await stage.checkView('dialog-choose');
    await stage.press('Correct it');
    await visitor.go(`${collectionView}/records/r0`);
    await visitor.writeEditor('{"n": 1, "title": "Mine"}');
    await alice.request('PUT', `${collection}/records/r0`, { body: { data: { n: 2, title: 'Theirs' } } });
    await stage.press('Save');
    await page.getByRole('dialog', { name: 'Another user has changed this object' }).waitFor();
    await stage.checkView('dialog-merge');
    await page.keyboard.press('Escape');
  });
});
