// The web console in a real browser, as users use it (docs/guides/admin.md).
import { expect, it } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';
import { collection, collectionView, describeConsole, hostile } from './stage.ts';
import { Visitor } from './visitor.ts';

describeConsole('The console in a browser', {}, (stage) => {
  const text = (content: string) => stage.page.getByText(content, { exact: true });
  const crumb = (name: string) =>
    stage.page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name, exact: true });

  it('signs in, and makes a bucket, a collection and a record.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('DELETE', '/v1/buckets/kitchen');
    await visitor.signIn('alice');
    await text('No buckets are visible to you yet. Create one above.').waitFor();
    for (const [kind, id] of [
      ['bucket', 'kitchen'],
      ['collection', 'recipes'],
      ['record', 'bread'],
    ] as const) {
      await page.getByRole('main').getByText(`New ${kind}`, { exact: true }).click();
      await page.getByLabel('Id', { exact: true }).fill(id);
      if (kind === 'record') await visitor.writeEditor('{"title": "Bread", "__proto__": 1.0}');
      await stage.press(`Create ${kind}`);
      await page.getByRole('heading', { level: 1, name: `${kind} ${id}` }).waitFor();
    }
    expect(await stage.recordText('bread')).toContain('"data":{"title":"Bread","__proto__":1.0,"id":"bread"');
    // What exists is not written over.
    await visitor.go(collectionView);
    await text('New record').click();
    await page.getByLabel('Id', { exact: true }).fill('bread');
    await visitor.writeEditor('{}');
    await visitor.pressInEditor('Control+s');
    await page.getByRole('alert').getByText('A record with this id already exists.').waitFor();
  });

  it('keeps the session in the tab until the user signs out.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await page.reload();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    await stage.press('Sign out');
    await page.getByLabel('Password').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('changes one attribute and leaves all others as they are, to the last digit.', async () => {
    const { page, visitor } = stage;
    await stage.store({
      odd: String.raw`{"__proto__":{"x":[]},"big":12345678901234567890.10,"e":"\u00e9","title":"old"}`,
    });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/odd`);
    await expect.poll(() => visitor.editorText()).toContain('"old"');
    await visitor.writeEditor((await visitor.editorText()).replace('"old"', '"new"'));
    await visitor.pressInEditor('Control+s');
    await stage.status('Saved.');
    expect(await stage.recordText('odd')).toContain(
      '"data":{"__proto__":{"x":[]},"big":12345678901234567890.10,"e":"é","title":"new"',
    );
    await visitor.writeEditor('{"title": }');
    await stage.press('Save');
    await page.getByRole('alert').getByText('This is not valid JSON').waitFor();
    await stage.press('Undo changes');
    await expect.poll(() => visitor.editorText()).toContain('"big": 12345678901234567890.10,');
  });

  it('keeps every key that is typed, also faster than the browser draws, and while an earlier text is being saved.', async () => {
    const { page, visitor } = stage;
    await stage.store({ bread: '{}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await visitor.writeEditor('');
    const typed = '{"text": "typed key by key without a pause between the keys"}';
    await page.keyboard.type(typed);
    expect(await visitor.editorText()).toBe(typed);
    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/records/bread', async (route) => {
      if (route.request().method() === 'PUT') await isAnswered;
      await route.continue();
    });
    await visitor.pressInEditor('Control+s');
    await visitor.pressInEditor('Control+End');
    await page.keyboard.type(' ');
    answer();
    await stage.status('Saved.');
    await page.getByText('Not saved', { exact: true }).waitFor();
    expect(await visitor.editorText()).toBe(`${typed} `);
    expect(await stage.recordText('bread')).toContain('"text":"typed key by key');
    await visitor.pressInEditor('Control+s');
    await page.getByText('Not saved', { exact: true }).waitFor({ state: 'detached' });
  });

  it('shows both versions after a conflicting change, and lets the user choose.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"title":"first"}' });
    const record = `${collection}/records/bread`;
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    // The heading is shown before the version that the user edits.
    await expect.poll(() => visitor.editorText()).toContain('"first"');

    await alice.request('PUT', record, { body: { data: { title: 'theirs' } } });
    await visitor.writeEditor('{"title": "mine"}');
    await stage.press('Save');
    const dialog = page.getByRole('dialog', { name: 'Another user has changed this object' });
    await dialog.getByText('"theirs"', { exact: true }).waitFor();
    await dialog.getByText('"mine"', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    expect(await visitor.editorText()).toBe('{"title": "mine"}');
    await stage.press('Save');
    await stage.press('Overwrite with mine');
    await stage.status('Saved.');
    expect(await stage.recordText('bread')).toContain('"title":"mine"');

    // The saved version is loaded, so the record is not missing when the view asks for it.
    await expect.poll(() => visitor.editorText()).toBe('{\n  "title": "mine"\n}');
    await alice.request('DELETE', record);
    await visitor.writeEditor('{"title": "again"}');
    await stage.press('Save');
    await dialog.getByText('It was deleted.').waitFor();
    await stage.press('Create it again with mine');
    await expect.poll(() => stage.recordText('bread')).toContain('"title":"again"');

    // Indented: shown anew, as it is stored.
    await expect.poll(() => visitor.editorText()).toBe('{\n  "title": "again"\n}');
    await alice.request('PUT', record, { body: { data: { title: 'better' } } });
    await visitor.writeEditor('{"title": "worse"}');
    await stage.press('Save');
    await stage.press('Keep theirs');
    await expect.poll(() => visitor.editorText()).toContain('"better"');
  });

  it('pages, sorts and filters records.', async () => {
    const { page, visitor } = stage;
    const numbers = Array.from({ length: 60 }, (_value, index) => index);
    await stage.store(
      Object.fromEntries(numbers.map((n) => [`r${n}`, `{"n":${n},"kind":"${n % 3 === 0 ? 'a' : 'b'}"}`])),
    );
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    const firstCell = () => page.getByRole('row').nth(1).getByRole('cell').nth(1).textContent();
    await text('60 records').waitFor();
    await page.getByRole('columnheader', { name: 'n', exact: true }).getByRole('link').click();
    await expect.poll(firstCell).toBe('0');
    await stage.press('Next');
    await text('Page 2').waitFor();
    await expect.poll(firstCell).toBe('50');
    expect(await page.getByRole('row').count()).toBe(11);
    await stage.press('Previous');
    await text('Page 1').waitFor();
    await expect.poll(firstCell).toBe('0');
    await page.getByRole('columnheader', { name: 'n', exact: true }).getByRole('link').click();
    await expect.poll(firstCell).toBe('59');
    await page.locator('body').press('/');
    await page.getByLabel('Field').waitFor();
    await page.keyboard.type('kind');
    await page.getByLabel('Value').fill('a');
    await page.keyboard.press('Enter');
    await text('20 records').waitFor();
    expect(await firstCell()).toBe('57');
    await page.getByRole('button', { name: 'Remove: kind is a' }).click();
    await text('60 records').waitFor();
  });

  it('shows what others change, without a reload.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread"}' });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await text('1 record').waitFor();
    const followed = page.waitForRequest((request) => request.url().includes('_live=sse'));
    await alice.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Soup' } } });
    await page.getByRole('cell', { name: 'Soup', exact: true }).waitFor();
    await followed;
    await alice.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Tomato soup' } } });
    await page.getByRole('cell', { name: 'Tomato soup', exact: true }).waitFor();
    await page.getByRole('row').getByRole('link', { name: 'soup' }).click();
    await page.getByRole('heading', { level: 1, name: 'record soup' }).waitFor();
    await alice.request('PUT', `${collection}/records/soup`, { body: { data: { title: 'Hot soup' } } });
    await visitor.lookAgain();
    await stage.press('Show the current version');
    await expect.poll(() => visitor.editorText()).toContain('"Hot soup"');
  });

  it('polls lists of services without live updates.', async () => {
    const other = await startTestService({ settings: { includes: 'admin', live_max_streams: '0' } });
    const guest = await Visitor.come(stage.browser, other);
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
    const { alice, page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=permissions`);
    await page.getByRole('combobox', { name: 'Add a principal' }).fill('  account:bob ');
    await stage.press('Add');
    await stage.press('Add it nevertheless');
    await page.getByRole('checkbox', { name: 'account:bob: record:create' }).check();
    await stage.press('Save permissions');
    await stage.press('Save nevertheless');
    await stage.status('Permissions saved.');
    const { body } = await alice.request('GET', collection);
    expect(body).toMatchObject({
      permissions: { read: ['account:bob'], 'record:create': ['account:bob'] },
    });
  });

  it('deletes after a question, and what holds others after a word.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await stage.press('Delete this record');
    await stage.press('Keep it');
    expect((await alice.request('GET', `${collection}/records/bread`)).status).toBe(200);
    await stage.press('Delete this record');
    await stage.press('Delete');
    await text('This collection has no records yet.').waitFor();
    expect((await alice.request('GET', `${collection}/records/bread`)).status).toBe(404);
    await visitor.go('#/buckets/kitchen?_tab=attributes');
    await stage.press('Delete this bucket');
    expect(await page.getByRole('button', { name: 'Delete everything' }).isDisabled()).toBe(true);
    await page.getByLabel('Type kitchen to continue').fill('kitchen');
    await stage.press('Delete everything');
    await page.getByRole('heading', { level: 1, name: 'Buckets' }).waitFor();
    expect((await alice.request('GET', '/v1/buckets')).body).toEqual({ data: [] });
  });

  it('asks before it leaves what has not been saved.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await visitor.writeEditor('{"half": true}');
    await crumb('recipes').click();
    await stage.press('Stay');
    await stage.press('Sign out');
    await stage.press('Stay');
    await alice.request('PUT', `${collection}/records/bread`, { body: { data: { title: 'theirs' } } });
    await visitor.lookAgain();
    await stage.press('Show the current version');
    await stage.press('Stay');
    expect(await visitor.editorText()).toBe('{"half": true}');
    await crumb('recipes').click();
    await stage.press('Leave');
    await page.getByRole('heading', { level: 1, name: 'collection recipes' }).waitFor();
  });

  it('shows markup in data as text, everywhere.', async () => {
    const { alice, page, visitor } = stage;
    const value = JSON.stringify(hostile);
    await stage.store({ evil: `{"title":${value},${value}:1}` });
    await alice.request('PUT', collection, { body: { data: { displayFields: ['title', hostile] } } });
    await visitor.signIn('alice');
    await visitor.go(collectionView);
    await page.getByRole('cell', { name: hostile }).waitFor();
    await page.getByRole('columnheader', { name: hostile }).waitFor();
    await visitor.go(`${collectionView}?like_title=${encodeURIComponent(hostile)}`);
    await text('1 record').waitFor();
    await visitor.go(`${collectionView}/records/evil?_tab=history`);
    await page.locator('summary').first().click();
    await page.locator('.diff').getByText(hostile).first().waitFor();
    await visitor.go(`${collectionView}/records/${encodeURIComponent(hostile)}`);
    await page.getByRole('heading', { level: 1, name: hostile }).waitFor();
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('says in words what is not allowed, and shows visitors what is.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread"}' });
    await alice.request('PATCH', collection, { body: { permissions: { read: ['system.Everyone'] } } });
    await stage.press('Explore without signing in');
    await page.getByLabel('Open a bucket by its id').fill('kitchen');
    await stage.press('Open');
    await page.getByRole('alert').getByText('You are not signed in').first().waitFor();
    await page.getByRole('row').getByRole('link', { name: 'recipes' }).click();
    await page.getByRole('row').getByRole('link', { name: 'bread' }).click();
    await page.getByText('You have no permission to change this record.').waitFor();
    await expect.poll(() => visitor.editorText()).toContain('"title": "Bread"');
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  });
});
