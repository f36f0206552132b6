// The fields of a common schema: read from JSON Schema text, written back to it, and proposed from records. Keywords that the
// builder does not know stay as they are.
import { choicesOf, propertiesOf, textIn } from '../../core/json-schema.ts';
import { displayText, elementsOf, isObjectText, memberText, membersOf, withMember } from '../../core/json-text.ts';

export type FieldKind = 'text' | 'date' | 'number' | 'integer' | 'boolean' | 'choice' | 'list' | 'other';

export const kindLabels: Readonly<Record<FieldKind, string>> = {
  text: 'Text',
  date: 'Date',
  number: 'Number',
  integer: 'Whole number',
  boolean: 'True or false',
  choice: 'Choice',
  list: 'List of texts',
  other: 'Other (edit as JSON)',
};

export interface SchemaField {
  readonly name: string;
  readonly isRequired: boolean;
  /** Schema of the value, as JSON text. */
  readonly schema: string;
}

const ofKind: Readonly<Record<FieldKind, string>> = {
  text: '{"type":"string"}',
  date: '{"type":"string","format":"date"}',
  number: '{"type":"number"}',
  integer: '{"type":"integer"}',
  boolean: '{"type":"boolean"}',
  choice: '{"enum":[]}',
  list: '{"type":"array","items":{"type":"string"}}',
  other: '{}',
};
/** Keywords that decide the kind. */
const kindKeywords = ['type', 'format', 'enum', 'items'];

export const emptySchema = '{"type":"object","properties":{}}';

export function fieldsOf(schema: string): readonly SchemaField[] {
  return propertiesOf(schema).map(({ key, schema: property, isRequired }) => ({
    name: key,
    isRequired,
    schema: property,
  }));
}

export function kindOf(schema: string): FieldKind {
  if (!isObjectText(schema)) return 'other';
  const choices = choicesOf(schema);
  const type = textIn(schema, 'type');
  if (memberText(schema, 'enum') !== undefined) {
    const isText = choices.every((choice) => choice.startsWith('"')) && (type === undefined || type === 'string');
    return isText ? 'choice' : 'other';
  }
  if (type === 'string') return textIn(schema, 'format') === 'date' ? 'date' : 'text';
  if (type === 'number' || type === 'integer' || type === 'boolean') return type;
  if (type !== 'array') return 'other';
  const items = memberText(schema, 'items') ?? '';
  return isObjectText(items) && textIn(items, 'type') === 'string' ? 'list' : 'other';
}

/** Returns the schema of a field with another kind; its title and description stay. */
export function withKind(schema: string, kind: FieldKind): string {
  const known = isObjectText(schema) ? schema : '{}';
  const bare = kindKeywords.reduce((text, keyword) => withMember(text, keyword, undefined), known);
  return membersOf(ofKind[kind]).reduce((text, { key, text: value }) => withMember(text, key, value), bare);
}

/** Returns the schema of a field with a text such as its title; `''` removes it. */
export function withText(schema: string, key: string, value: string): string {
  return withMember(isObjectText(schema) ? schema : '{}', key, value === '' ? undefined : JSON.stringify(value));
}

/** Returns the choices of a field, one on each line. */
export function choiceLines(schema: string): string {
  return choicesOf(schema).map(displayText).join('\n');
}

export function withChoices(schema: string, lines: string): string {
  const choices = [...new Set(lines.split('\n').filter((line) => line.trim() !== ''))];
  return withMember(schema, 'enum', `[${choices.map((choice) => JSON.stringify(choice)).join(',')}]`);
}

/** Returns whether objects may have attributes that the schema does not name. */
export function allowsOthers(schema: string): boolean {
  return memberText(schema, 'additionalProperties') !== 'false';
}

export function withOthers(schema: string, isAllowed: boolean): string {
  return withMember(schema, 'additionalProperties', isAllowed ? undefined : 'false');
}

/** Returns the schema with these fields instead of its own. */
export function withFields(schema: string, fields: readonly SchemaField[]): string {
  const properties = fields.map(({ name, schema: property }) => `${JSON.stringify(name)}:${property}`);
  const known = new Set(fieldsOf(schema).map(({ name }) => name));
  const required = memberText(schema, 'required') ?? '[]';
  // Names that no property declares stay required.
  const others = (required.startsWith('[') ? elementsOf(required) : []).filter((text) => !known.has(displayText(text)));
  const names = fields.filter(({ isRequired }) => isRequired).map(({ name }) => JSON.stringify(name));
  const all = [...names, ...others];
  const typed = memberText(schema, 'type') === undefined ? withMember(schema, 'type', '"object"') : schema;
  const filled = withMember(typed, 'properties', `{${properties.join(',')}}`);
  return withMember(filled, 'required', all.length === 0 ? undefined : `[${all.join(',')}]`);
}

/** Returns why the fields are not complete; `undefined` if they are. */
export function faultOfFields(fields: readonly SchemaField[]): string | undefined {
  const names = fields.map(({ name }) => name);
  if (names.some((name) => name === '')) return 'Each field needs a name.';
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? undefined : `Two fields have the name ${twice}.`;
}

/** Returns fields that the records have, required where all have them. */
export function proposedFields(rows: readonly string[]): readonly SchemaField[] {
  const values = new Map<string, string[]>();
  for (const { key, text } of rows.flatMap((row) => membersOf(row)))
    values.set(key, [...(values.get(key) ?? []), text]);
  return [...values]
    .filter(([name]) => !['id', 'last_modified', 'schema', 'attachment'].includes(name))
    .map(([name, texts]) => ({ name, isRequired: texts.length === rows.length, schema: ofKind[commonKind(texts)] }));
}

function commonKind(texts: readonly string[]): FieldKind {
  const all = (pattern: RegExp): boolean => texts.every((text) => pattern.test(text));
  if (all(/^"\d{4}-\d\d-\d\d"$/)) return 'date';
  if (all(/^"/)) return 'text';
  if (all(/^-?\d+$/)) return 'integer';
  if (all(/^-?\d/)) return 'number';
  if (all(/^(?:true|false)$/)) return 'boolean';
  const isList = texts.every((text) => text.startsWith('[') && elementsOf(text).every((each) => each.startsWith('"')));
  return isList ? 'list' : 'other';
}
