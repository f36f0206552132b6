// Forms from JSON Schemas in the console: fields of every kind, and typing that never loses the focus or a text.
import { expect, it } from 'vitest';
import { collection, collectionView, describeConsole } from './stage.ts';

const settings = { experimental_collection_schema_validation: 'true' };
const schema = {
  type: 'object',
  required: ['title', 'kind', 'note'],
  definitions: { person: { type: 'object', properties: { name: { type: 'string', default: 'Ann' } } } },
  properties: {
    title: { type: 'string' },
    kind: { const: 'recipe' },
    note: { type: ['string', 'null'], title: 'Note' },
    when: { type: 'string', format: 'date-time' },
    size: {
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    cook: { $ref: '#/definitions/person', title: 'Cook' },
    helpers: { type: 'array', items: { $ref: '#/definitions/person' } },
    price: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    tags: { type: 'array', items: { type: 'string' } },
    free: {},
  },
};

describeConsole('Forms in the console', { settings }, (stage) => {
  it('keeps the field and the focus while a text grows, and moves the focus to a new element.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}?_tab=records&_new=1`);
    const long = 'A text of more than eighty characters, which is typed key by key as users do, without a pause.';
    await page.getByLabel('title *').pressSequentially(long);
    expect(await page.getByLabel('title *').inputValue()).toBe(long);
    await stage.press('Add to tags');
    await page.keyboard.type('one');
    await stage.press('Add to tags');
    await page.keyboard.type('two');
    await stage.press('Remove tags 1');
    await page.getByLabel('Id', { exact: true }).fill('bread');
    await page.getByLabel('Note *').waitFor();
    await stage.press('Create record');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Note *').fill('x');
    await page.getByLabel('Note *').fill('');
    await stage.press('Create record');
    await stage.heading('record bread');
    const { body } = await alice.request('GET', `${collection}/records/bread`);
    expect(body).toMatchObject({
      data: { title: long, kind: 'recipe', note: null, cook: { name: 'Ann' }, tags: ['two'] },
    });
  });

  it('edits dates with time, choices with titles, references, and everything else as JSON.', async () => {
    const { alice, page, visitor } = stage;
    await alice.request('PATCH', collection, { body: { data: { schema } } });
    await stage.store({ bread: '{"title":"x","kind":"recipe","note":null,"price":1.50,"free":[1.0],"tags":["a"]}' });
    await visitor.signIn('alice');
    await visitor.go(`${collectionView}/records/bread`);
    await page.getByLabel('when').fill('2026-11-24T10:30');
    await page.getByLabel('size').selectOption('Large');
    await page.getByLabel('price').fill('12345678901234567890.10');
    await stage.press('Add to helpers');
    await page.getByRole('group', { name: 'helpers 1' }).getByLabel('name').fill('Ben');
    const free = page.getByLabel('free');
    await free.fill('{"a": ');
    await page.getByText('This is not valid JSON').waitFor();
    await stage.press('Save');
    expect(await free.evaluate((element) => element.matches(':focus'))).toBe(true);
    await free.pressSequentially('2.0}');
    await stage.checkView('form-kinds');
    await stage.press('Save');
    await stage.status('Saved.');
    const { body } = await alice.request('GET', `${collection}/records/bread`);
    const when = await page.evaluate("new Date('2026-11-24T10:30').toISOString().replace('.000', '')");
    expect(body).toMatchObject({ data: { when, size: 'l', helpers: [{ name: 'Ben' }], free: { a: 2 } } });
    expect(await stage.recordText('bread')).toContain('"price":12345678901234567890.10');
  });
});
