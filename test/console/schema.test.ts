// The schema of a collection in the console: the builder, the check of existing records, and saving.
import { expect, it } from 'vitest';
import { inExtent } from '../support/extent.ts';
import { collection, collectionView, hostile, describeConsole } from './stage.ts';

const settings = { experimental_collection_schema_validation: 'true' };

describeConsole('Schemas in the console', { settings }, (stage) => {
  const view = `${collectionView}?_tab=schema`;

  const storedSchema = async (): Promise<unknown> => {
    const { body } = await stage.alice.request('GET', collection);
    return (body as { data: { schema?: unknown } }).data.schema;
  };

  it('builds a schema, checks existing records against it, and saves it.', async () => {
    const { page, visitor } = stage;
    const count = inExtent(450, 5000);
    await stage.store({
      ...Object.fromEntries(Array.from({ length: count }, (_value, n) => [`r${n}`, `{"title":"t${n}","n":${n}}`])),
      odd: `{"title":5,"n":1,${JSON.stringify(hostile)}:1}`,
      none: '{"n":1}',
    });
    await visitor.signIn('alice');
    await visitor.go(view);
    await page.getByText('This collection has no schema').waitFor();
    await stage.press('Add a field');
    await page.getByText('Each field needs a name.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('title');
    await page.getByLabel('Title', { exact: true }).fill(hostile);
    await page.getByLabel('Required').check();
    await stage.press('Add a field');
    await page.getByLabel('Name', { exact: true }).nth(1).fill('size');
    await page.getByLabel('Kind').nth(1).selectOption('choice');
    await page.getByLabel('Choices, one on each line').fill('small\nlarge');
    await stage.press('Check existing records');
    const report = page.getByRole('alert', { name: 'Report' });
    await report.getByText(`${new Intl.NumberFormat('en-US').format(count)} pass, 2 not:`).waitFor();
    await report.getByText('odd: refused. title: Instance type "number" is invalid. Expected "string".').waitFor();
    await report.getByText('none: refused.').waitFor();
    await stage.checkView('schema');
    expect(await storedSchema()).toBeUndefined();
    await stage.press('Save the schema');
    await stage.status('The schema is saved.');
    expect(await storedSchema()).toEqual({
      type: 'object',
      properties: { title: { type: 'string', title: hostile }, size: { enum: ['small', 'large'] } },
      required: ['title'],
    });
    await stage.press('Remove the schema');
    await stage.press('Remove');
    await stage.status('The schema is removed.');
    expect(await storedSchema()).toBeUndefined();
    expect(await page.locator('#app img, #app script').count()).toBe(0);
  });

  it('proposes fields from records, and keeps what the builder does not know.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ a: '{"title":"x","n":1.50,"when":"2026-11-23"}' });
    const schema = { $comment: 'kept', type: 'object', properties: { n: { type: 'number', minimum: 1 } } };
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await visitor.signIn('alice');
    await visitor.go(view);
    await stage.press('Propose fields from records');
    await expect.poll(() => page.getByLabel('Name', { exact: true }).count()).toBe(3);
    await stage.press('Check existing records');
    await page.getByText('All 1 records pass.').waitFor();
    await alice.request('PATCH', collection, { body: { data: { other: 1 } } });
    await page.keyboard.press('Control+s');
    await stage.status('The schema is saved.');
    expect(await storedSchema()).toMatchObject({
      $comment: 'kept',
      properties: { n: { minimum: 1 }, title: { type: 'string' }, when: { format: 'date' } },
      required: ['title', 'when'],
    });
  });

  it('asks when another user has changed the schema, shows refusals, and ends a pattern that takes too long.', async () => {
    const { alice, page, visitor } = stage;
    await stage.store({ a: `{"title":"${'a'.repeat(40)}!"}` });
    const first = { type: 'object', properties: { title: { type: 'string' } } };
    await alice.request('PATCH', collection, { body: { data: { schema: first } } });
    await visitor.signIn('alice');
    await visitor.go(view);
    await page.getByLabel('Name', { exact: true }).fill('name');
    await alice.request('PATCH', collection, { body: { data: { schema: { ...first, $comment: 'theirs' } } } });
    await stage.press('Save the schema');
    await page.getByRole('dialog').getByText('"$comment": "theirs"').waitFor();
    await stage.press('Overwrite with mine');
    await stage.status('The schema is saved.');
    expect(await storedSchema()).toEqual({ type: 'object', properties: { name: { type: 'string' } } });
    const slow = { type: 'object', properties: { title: { type: 'string', pattern: '^(a+)+$' } } };
    await alice.request('PATCH', collection, { body: { data: { schema: slow } } });
    await page.reload();
    await stage.press('Check existing records');
    await page.getByText('The check against the schema takes too long.').waitFor({ timeout: 60_000 });
    await stage.press('JSON');
    const editor = page.getByRole('textbox', { name: 'Schema (JSON)' });
    await editor.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('{"type": "nonsense"}');
    await stage.press('Save the schema');
    await page.getByRole('alert').getByText('The service does not accept this.').waitFor();
  });
});
