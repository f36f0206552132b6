// The frame of the console and what all areas share: addresses, sidebar, search, drafts, narrow pages, keyboard, accessibility.
import { expect, it } from 'vitest';
import { inExtent } from '../support/extent.ts';
import { collection, collectionView, describeConsole, hostile } from './stage.ts';

const settings = { experimental_collection_schema_validation: 'true' };
const schema = {
  type: 'object',
  required: ['title'],
  properties: {
    title: { type: 'string' },
    price: { type: 'number', default: 0 },
    size: { enum: ['small', 'large'] },
    when: { type: 'string', format: 'date' },
    tags: { type: 'array', items: { type: 'string' } },
    maker: { type: 'object', properties: { name: { type: 'string', title: 'Maker' } } },
  },
};

/** A guard against hanging, not a claim about speed: 50,000 records are stored through the API. */
const fullSizeMilliseconds = 600_000;

describeConsole('The frame of the console', { settings }, (stage) => {
  const sidebar = () => stage.page.getByRole('navigation', { name: 'Buckets and pages' });

  it('keeps page, order and filters in the address, through Back and reload.', async () => {
    const { page, visitor } = stage;
    await stage.storeMany(120);
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_sort=n`);
    await stage.press('Next');
    await page.getByText('Page 2').waitFor();
    await page.getByRole('cell', { name: 'Title 50', exact: true }).click();
    await stage.heading('record r50');
    await page.goBack();
    await page.getByText('Page 2').waitFor();
    await page.getByRole('cell', { name: 'Title 99', exact: true }).waitFor();
    await page.reload();
    await page.getByText('Page 2').waitFor();
    await page.getByRole('cell', { name: 'Title 50', exact: true }).waitFor();
    await stage.press('Next');
    await page.getByText('Page 3').waitFor();
    await stage.press('Previous');
    await page.getByText('Page 2').waitFor();
    await stage.press('Previous');
    await page.getByRole('cell', { name: 'Title 0', exact: true }).waitFor();
    await visitor.go(`${collectionView}?_sort=-n&min_n=118`);
    await page.getByText('2 records', { exact: true }).waitFor();
    await page.getByText('?_sort=-n&min_n=118', { exact: false }).waitFor();
  });

  it('lists buckets and collections page by page in the sidebar, and finds them.', async () => {
    const { page, visitor } = stage;
    const count = inExtent(120, 300);
    await stage.putAll([
      ...Array.from({ length: count }, (_value, n) => [`/v1/buckets/kitchen/collections/c${1000 + n}`, '{}'] as const),
      ...Array.from({ length: count }, (_value, n) => [`/v1/buckets/b${1000 + n}`, '{}'] as const),
    ]);
    await visitor.signIn('alice');
    const link = (name: string) => sidebar().getByRole('link', { name, exact: true });
    await link('b1099').waitFor();
    expect(await link(`b${1000 + count - 1}`).count()).toBe(0);
    await sidebar().getByRole('button', { name: 'Show more buckets' }).click();
    await link('b1110').waitFor();
    await sidebar().getByLabel('Find a bucket').fill('kitch');
    await expect.poll(() => link('b1000').count()).toBe(0);
    await sidebar().getByRole('button', { name: 'Contents of kitchen' }).click();
    await link('c1000').waitFor();
    await sidebar().getByRole('button', { name: 'Show more collections' }).click();
    await link('c1119').click();
    await stage.heading('collection c1119');
    // The current collection stays in view, even when its page of the sidebar is not loaded.
    await page.reload();
    await expect.poll(() => link('c1119').getAttribute('aria-current')).toBe('page');
  });

  it('finds a record by its id in the other collections of the bucket, and shows how many each has.', async () => {
    const { alice, page, visitor } = stage;
    const cellar = '/v1/buckets/kitchen/collections/cellar';
    await stage.storeMany(3);
    await alice.request('PUT', cellar);
    await alice.request('PUT', `${cellar}/records/wine`);
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await visitor.search('wine');
    await page.getByRole('option', { name: 'wine record in kitchen / cellar' }).click();
    await stage.heading('record wine');
    await visitor.search('r2');
    await page.getByRole('option', { name: 'r2 record in kitchen / recipes' }).click();
    await stage.heading('record r2');
    // A record of this collection is found once, and a part of an id only in the current collection.
    await visitor.search('win');
    await page.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    await visitor.go('#/buckets/kitchen');
    await page.getByRole('row').filter({ hasText: 'recipes' }).getByRole('cell', { name: '3', exact: true }).waitFor();
    await page.getByRole('row').filter({ hasText: 'cellar' }).getByRole('cell', { name: '1', exact: true }).waitFor();
  });

  it('finds buckets, collections, groups and records by id with Ctrl+K, and runs commands.', async () => {
    const { alice, page, visitor } = stage;
    await stage.storeMany(3);
    await alice.request('PUT', '/v1/buckets/kitchen/groups/cooks');
    await alice.request('PUT', '/v1/buckets/garden');
    await alice.request('PUT', '/v1/buckets/garden/collections/recipients');
    await visitor.signIn('alice');
    const search = async (text: string, option: RegExp): Promise<void> => {
      await visitor.search(text);
      await page.getByRole('option', { name: option }).waitFor();
    };
    await search('kitch', /^kitchen bucket/);
    await page.keyboard.press('Enter');
    await stage.heading('bucket kitchen');
    await search('cook', /^cooks group in kitchen/);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await search('recip', /^recipients collection in garden/);
    await page.getByRole('option', { name: /^recipes collection in kitchen/ }).click();
    await stage.heading('collection recipes');
    await search('r2', /^r2 record in kitchen \/ recipes/);
    await page.keyboard.press('Escape');
    await visitor.go('#/');
    await search('kitchen/recipes/r1', /^r1 record/);
    await page.keyboard.press('Enter');
    await stage.heading('record r1');
    await search('new rec', /^New record command/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New record' }).waitFor();
  });

  it('keeps what was typed into a new record: a question, and a draft for the next visit.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=records&_new=1`);
    await page.getByLabel('Id', { exact: true }).fill('bread');
    await visitor.writeEditor('{"half": tru');
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'kitchen' }).click();
    await stage.press('Stay');
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('bread');
    await page.goBack();
    await stage.press('Leave');
    // Another address before the browser is back would replace the step back.
    await stage.heading('Buckets');
    await visitor.go(`${collectionView}?_tab=records&_new=1`);
    await stage.press('Restore draft');
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('bread');
    await expect.poll(() => visitor.editorText()).toBe('{"half": tru');
    await visitor.writeEditor('{"half": true}');
    await visitor.pressInEditor('Control+s');
    await stage.heading('record bread');
    await visitor.go(`${collectionView}?_tab=records&_new=1`);
    await page.getByLabel('Id', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Restore draft' }).count()).toBe(0);
  });

  it('forgets drafts and choices with the user who signs out.', async () => {
    const { page, visitor } = stage;
    await stage.storeMany(1);
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/r0`);
    await visitor.writeEditor('{"secret": 1}');
    await expect.poll(() => page.evaluate('JSON.stringify(localStorage)')).toContain('secret');
    await stage.press('Sign out');
    await stage.press('Leave');
    await page.getByLabel('Password').waitFor();
    await expect.poll(() => page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
  });

  it('edits records in a form that keeps the digits of numbers, and shows refusals at the field.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=records&_new=1`);
    await page.getByLabel('Id', { exact: true }).fill('bread');
    await page.getByLabel('title *').fill(hostile);
    await page.getByLabel('price').fill('12345678901234567890.10');
    await page.getByLabel('size').selectOption('large');
    await page.getByLabel('when').fill('2026-11-23');
    await stage.press('Add to tags');
    await page.getByLabel('tags 1', { exact: true }).fill('a "b"');
    await page.getByLabel('Maker').fill('Ann');
    await page.keyboard.press('Control+s');
    await stage.heading('record bread');
    const { text } = await alice.request('GET', `${collection}/records/bread`);
    expect(text).toContain(
      `"price":12345678901234567890.10,"title":${JSON.stringify(hostile)},"size":"large","when":"2026-11-23","tags":["a \\"b\\""],"maker":{"name":"Ann"}`,
    );
    await page.getByLabel('price').fill('cheap');
    await stage.press('Save');
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('price').getAttribute('aria-invalid')).toBe('true');
    await stage.press('JSON');
    await expect.poll(() => visitor.editorText()).toContain('"price": "cheap"');
    await visitor.writeEditor('{"title": "x", "other": 1.50}');
    await stage.press('Form');
    await page.getByLabel('title *').fill('y');
    await stage.press('Save');
    await stage.status('Saved.');
    expect((await alice.request('GET', `${collection}/records/bread`)).text).toContain('"title":"y","other":1.50');
  });

  it('remembers chosen columns and widths, and deletes selected rows.', async () => {
    const { alice, page, visitor } = stage;
    await stage.storeMany(5);
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await stage.press('Columns');
    await page.getByRole('checkbox', { name: 'n', exact: true }).uncheck();
    await stage.press('Apply');
    await expect.poll(() => page.getByRole('columnheader').allTextContents()).toEqual(['id', 'title', 'last_modified']);
    const edge = page.getByRole('separator', { name: 'Width of title' });
    const before = Number(await edge.getAttribute('aria-valuenow'));
    await edge.focus();
    await page.keyboard.press('ArrowRight');
    await page.reload();
    await expect.poll(() => edge.getAttribute('aria-valuenow')).toBe(String(before + 20));
    await page.getByLabel('Select r1').check();
    await page.getByLabel('Select r2').check();
    await stage.press('Delete selected');
    await stage.press('Delete');
    await stage.status('2 records deleted.');
    await page.getByText('3 records', { exact: true }).waitFor();
    const list = await alice.request('GET', `${collection}/records?_sort=id&_fields=id`);
    expect((list.body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['r0', 'r3', 'r4']);
  });

  it('calls a record with a generated id by its title or its first short text.', async () => {
    const { page, visitor } = stage;
    const id = (digit: number): string => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
    const long = 'x'.repeat(81);
    await stage.store({
      [id(1)]: `{"kind":"cake","title":${JSON.stringify(hostile)}}`,
      [id(2)]: `{"text":"${long}","owner":"${id(1)}","empty":" ","n":5,"dish":"Soup"}`,
      [id(3)]: `{"text":"${long}","n":5}`,
      plain: '{"title":"Another"}',
    });
    await visitor.signIn('alice');
    for (const [record, heading] of [
      [id(1), `record ${hostile}`],
      [id(2), 'record Soup'],
      [id(3), 'Record'],
      ['plain', 'record plain'],
    ] as const) {
      await visitor.go(`${collectionView}/records/${record}`);
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
      if (record !== 'plain') await page.locator('.facts').getByText(record, { exact: true }).waitFor();
    }
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('shows a missing object with one message, and the same refusal once.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('bob');
    await visitor.go('#/buckets/kitchen');
    await page.getByRole('alert').waitFor();
    await page.getByRole('navigation', { name: 'Parts' }).waitFor();
    await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(1);
    await stage.press('Sign out');
    await visitor.signIn('alice');
    await visitor.go('#/buckets/kitchen/collections/none');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
  });

  it('hints at a mistyped password, and calls the personal bucket by its name.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice', 'a typing error');
    await page.getByText('No data belongs to this user.').waitFor();
    await page.getByRole('link', { name: 'Your personal bucket' }).click();
    await stage.heading('bucket Personal bucket');
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByText('Personal bucket').waitFor();
    await sidebar().getByRole('link', { name: 'Personal bucket' }).waitFor();
  });

  it('lists a collection below its own bucket only, and leads back from a page that does not exist.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PUT', '/v1/buckets/garden');
    await alice.request('PUT', '/v1/buckets/garden/collections/trees');
    await stage.storeMany(1);
    await visitor.signIn('alice');
    await visitor.go('#/buckets/garden/collections/trees');
    await sidebar().getByRole('link', { name: 'trees' }).waitFor();
    // The list below the bucket is not complete, so that the current collection is added to it.
    await page.route('**/buckets/kitchen/collections?*', async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        headers: { ...response.headers(), 'next-page': `${route.request().url()}&_token=x` },
      });
    });
    await sidebar().getByRole('button', { name: 'Contents of kitchen' }).click();
    await sidebar().getByRole('button', { name: 'Show more collections' }).waitFor();
    expect(await sidebar().getByRole('link', { name: 'trees' }).count()).toBe(1);
    await visitor.go(`${collectionView}?_page=2&_token=nonsense`);
    await page.getByRole('alert').waitFor();
    await page.getByRole('link', { name: 'Go to the first page' }).click();
    await page.getByRole('cell', { name: 'Title 0' }).waitFor();
  });

  it('fits its default columns into the page, and keeps the width of chosen ones.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', collection, { body: { data: { displayFields: ['a', 'b', 'c', 'd', 'e', 'f'] } } });
    await stage.store({ r: '{"a":1}' });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    const table = page.getByRole('region', { name: 'Table of records' });
    const isWider = (): Promise<boolean> => table.evaluate((element) => element.scrollWidth > element.clientWidth);
    await page.getByRole('columnheader', { name: 'last_modified' }).waitFor();
    expect(await isWider()).toBe(false);
    const edge = page.getByRole('separator', { name: 'Width of a', exact: true });
    await edge.focus();
    for (let presses = 0; presses < 25; presses += 1) await page.keyboard.press('ArrowRight');
    expect(Number(await edge.getAttribute('aria-valuenow'))).toBeGreaterThan(500);
    expect(await isWider()).toBe(true);
  });

  it('fits on a page of 390 pixels, and opens the sidebar there.', async () => {
    const { page, visitor } = stage;
    await stage.storeMany(3);
    await visitor.signIn('alice');
    await page.setViewportSize({ width: 390, height: 800 });
    const views = ['#/', '#/buckets/kitchen', collectionView, `${collectionView}/records/r0`];
    for (const view of [...views, `${collectionView}?_tab=permissions`, `${collectionView}?_tab=history`]) {
      await visitor.go(view);
      await expect.poll(() => page.locator('.loading').count()).toBe(0);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect([view, width]).toEqual([view, 390]);
    }
    await stage.press('Buckets and pages');
    await sidebar().getByRole('link', { name: 'recipes' }).click();
    await stage.heading('collection recipes');
    expect(await sidebar().isVisible()).toBe(false);
  });

  it(
    'shows pages of a collection with very many records, and edits a large record.',
    async () => {
      const { page, visitor } = stage;
      const count = inExtent(1000, 50_000);
      await stage.storeMany(count);
      await stage.putAll([[`${collection}/records/large`, `{"title":"large","text":"${'x'.repeat(300_000)}","n":-1}`]]);
      await visitor.signIn('alice');
      await visitor.go(`${collectionView}?_sort=-n`);
      await page.getByText(`${new Intl.NumberFormat('en-US').format(count + 1)} records`, { exact: true }).waitFor();
      await page.getByRole('cell', { name: `Title ${count - 1}`, exact: true }).waitFor();
      expect(await page.getByRole('row').count()).toBe(51);
      await visitor.go(`${collectionView}?title=large`);
      await page.getByRole('cell', { name: 'large', exact: true }).click();
      await stage.heading('record large');
      await visitor.writeEditor(JSON.stringify({ title: 'smaller', text: 'y'.repeat(10) }));
      await stage.press('Save');
      await stage.status('Saved.');
    },
    fullSizeMilliseconds,
  );

  it('shows the rows of a page before their total is known.', async () => {
    const { page, visitor } = stage;
    await stage.storeMany(60);
    await visitor.signIn('alice');
    let finish = (): void => {};
    const isOver = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await page.route('**/records**', async (route) => {
      if (route.request().method() === 'HEAD') await isOver;
      await route.continue();
    });
    await visitor.go(`${collectionView}?_sort=n`);
    await page.getByRole('cell', { name: 'Title 49', exact: true }).waitFor();
    expect(await page.getByText('60 records', { exact: true }).count()).toBe(0);
    finish();
    await page.getByText('60 records', { exact: true }).waitFor();
  });

  it('marks rows that others change while it shows them.', async () => {
    const { alice, page, visitor } = stage;
    await stage.storeMany(3);
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_sort=n`);
    const followed = page.waitForRequest((request) => request.url().includes('_live=sse'));
    await page.getByRole('cell', { name: 'Title 1', exact: true }).waitFor();
    await followed;
    await alice.request('PATCH', `${collection}/records/r1`, { body: { data: { title: hostile } } });
    await page.locator('tr.changed').getByRole('cell', { name: hostile, exact: true }).waitFor();
    expect(await page.locator('tr.changed').count()).toBe(1);
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('shows errors of JSON by line, and reports a service that went away.', async () => {
    const { page, visitor } = stage;
    await stage.storeMany(1);
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/r0`);
    await visitor.writeEditor('{\n  "a": 1,\n  "b": oops\n}');
    await page.locator('.cm-lint-marker-error').waitFor();
    await visitor.writeEditor('{"a": 2}');
    await page.route('**/v1/buckets/**', (route) => route.abort());
    await stage.press('Save');
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/v1/buckets/**');
    await stage.press('Save');
    await stage.status('Saved.');
  });
});
