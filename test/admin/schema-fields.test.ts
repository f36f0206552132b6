// The fields of schemas that the console builds.
import { describe, expect, it } from 'vitest';
import {
  allowsOthers,
  emptySchema,
  faultOfFields,
  fieldsOf,
  kindOf,
  proposedFields,
  withChoices,
  withFields,
  withKind,
  withOthers,
  withText,
} from '../../admin/src/areas/schema/fields.ts';

describe('The fields of a schema', () => {
  const schema =
    '{"$schema":"x","type":"object","required":["a","z"],"properties":{"a":{"type":"number","minimum":1.0},"b":{"oneOf":[]}},"allOf":[1.0]}';

  it('keep keywords that the builder does not know.', () => {
    expect(withFields(schema, fieldsOf(schema))).toBe(schema);
    const fields = fieldsOf(schema).map((field) => ({ ...field, name: `${field.name}2`, isRequired: true }));
    expect(withFields(schema, fields)).toBe(
      schema
        .replace('"a":{', '"a2":{')
        .replace('"b":{', '"b2":{')
        .replace('"required":["a","z"]', '"required":["a2","b2","z"]'),
    );
    expect(withFields('{}', [])).toBe('{"type":"object","properties":{}}');
  });

  it('have kinds, titles and choices.', () => {
    const kinds = [
      '{"type":"string"}',
      '{"type":["string"]}',
      '{"enum":[1]}',
      '{"enum":["a"]}',
      'true',
      '{"type":"array"}',
    ];
    expect(kinds.map(kindOf)).toEqual(['text', 'other', 'other', 'choice', 'other', 'other']);
    const titled = withText('{"type":"string","minLength":2}', 'title', 'A "b"');
    expect(withKind(titled, 'list')).toBe(
      String.raw`{"minLength":2,"title":"A \"b\"","type":"array","items":{"type":"string"}}`,
    );
    expect(withChoices(withKind(titled, 'choice'), 'x\n\ny\nx')).toContain('"enum":["x","y"]');
    expect(withText(titled, 'title', '')).toBe('{"type":"string","minLength":2}');
    expect([allowsOthers(emptySchema), allowsOthers(withOthers(emptySchema, false))]).toEqual([true, false]);
  });

  it('are proposed from records.', () => {
    const rows = [
      '{"id":"a","last_modified":1,"t":"x","d":"2026-01-02","n":1.50,"i":3,"b":true,"l":["x"],"o":{},"m":null}',
      '{"id":"b","t":"y","d":"2026-01-03","n":2,"i":-4,"b":false,"l":[]}',
    ];
    const proposed = proposedFields(rows).map(({ name, isRequired, schema: field }) => [
      name,
      isRequired,
      kindOf(field),
    ]);
    expect(proposed).toEqual([
      ['t', true, 'text'],
      ['d', true, 'date'],
      ['n', true, 'number'],
      ['i', true, 'integer'],
      ['b', true, 'boolean'],
      ['l', true, 'list'],
      ['o', false, 'other'],
      ['m', false, 'other'],
    ]);
  });

  it('need names, each of them once.', () => {
    const field = { name: 'a', isRequired: false, schema: '{}' };
    expect(faultOfFields([field, { ...field, name: '' }])).toBe('Each field needs a name.');
    expect(faultOfFields([field, field])).toBe('Two fields have the name a.');
    expect(faultOfFields([field])).toBeUndefined();
  });
});
