// The schema of a collection in the console: the builder, the check of existing records, and saving.
import type { Locator } from 'playwright-core';
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
    const complaint = page.getByRole('alert').getByText('Each field needs a name.');
    await stage.press('Add a field');
    await page.getByLabel('Name', { exact: true }).and(page.locator(':focus')).waitFor();
    expect(await complaint.count()).toBe(0);
    await page.keyboard.press('Tab');
    await complaint.waitFor();
    await stage.press('Add a field');
    await expect.poll(() => complaint.count()).toBe(0);
    await stage.press('Save the schema');
    await complaint.waitFor();
    await stage.press('Remove field 2');
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
    await report.getByText('odd: refused. title: expected a string').waitFor();
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

  it('keeps each field with its choices when others are moved and removed, and builds nested fields and limits.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(view);
    const field = (number: number): Locator => page.getByRole('group', { name: `Field ${number}`, exact: true });
    for (const [index, name] of ['size', 'colour', 'maker'].entries()) {
      await stage.press('Add a field');
      // The new field has the focus.
      await page.keyboard.type(name);
      if (index === 2) continue;
      await field(index + 1)
        .getByLabel('Kind', { exact: true })
        .selectOption('choice');
      await field(index + 1)
        .getByLabel('Choices, one on each line')
        .pressSequentially(`${name} 1\n${name} 2`);
    }
    await stage.press('Move field 2 up');
    const choices = page.getByLabel('Choices, one on each line');
    expect(await choices.nth(0).inputValue()).toBe('colour 1\ncolour 2');
    expect(await choices.nth(1).inputValue()).toBe('size 1\nsize 2');
    await stage.press('Remove field 1');
    expect(await choices.nth(0).inputValue()).toBe('size 1\nsize 2');
    await field(1).getByText('Description, default and limits').click();
    await field(1).getByLabel('Description').fill('How large');
    await field(1).getByLabel('Default').selectOption('size 2');
    await field(2).getByLabel('Kind', { exact: true }).selectOption('list');
    await field(2).getByLabel('Kind of the elements').selectOption('object');
    await stage.press('Add a field to each of maker');
    await page.keyboard.type('age');
    const nested = page.getByRole('group', { name: 'Field 1 of each of maker' });
    await nested.getByLabel('Kind', { exact: true }).selectOption('integer');
    await nested.getByText('Description, default and limits').click();
    await nested.getByLabel('Minimum').fill('x');
    await page.keyboard.press('Tab');
    await page.getByText('Default, minimum and maximum of the field age must be numbers.').waitFor();
    await nested.getByLabel('Minimum').fill('0');
    await stage.checkView('schema-nested');
    await stage.press('Save the schema');
    await stage.status('The schema is saved.');
    expect(await storedSchema()).toEqual({
      type: 'object',
      properties: {
        size: { enum: ['size 1', 'size 2'], description: 'How large', default: 'size 2' },
        maker: {
          type: 'array',
          items: { type: 'object', properties: { age: { type: 'integer', minimum: 0 } } },
        },
      },
    });
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
    await page.getByRole('alert').getByText('The service does not accept this').waitFor();
  });
});

describeConsole('Schemas in the console of a service that does not validate', {}, (stage) => {
  it('names the setting that turns the validation on.', async () => {
    const { page, visitor } = stage;
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=schema`);
    await page.getByText('experimental_collection_schema_validation = true').waitFor();
    await stage.checkView('schema-off');
  });
});
