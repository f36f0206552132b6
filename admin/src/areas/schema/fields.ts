// The fields of a common schema: read from JSON Schema text, written back to it, and proposed from records. Keywords that the
// builder does not know stay as they are.
import { choicesOf, propertiesOf, textIn } from '../../core/json-schema.ts';
import { displayText, elementsOf, isObjectText, memberText, membersOf, withMember } from '../../core/json-text.ts';

export type FieldKind =
  | 'text'
  | 'date'
  | 'moment'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'object'
  | 'other';

export const kindLabels: Readonly<Record<FieldKind, string>> = {
  text: 'Text',
  date: 'Date',
  moment: 'Date and time',
  number: 'Number',
  integer: 'Whole number',
  boolean: 'True or false',
  choice: 'Choice',
  list: 'List',
  object: 'Object with fields',
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
  moment: '{"type":"string","format":"date-time"}',
  number: '{"type":"number"}',
  integer: '{"type":"integer"}',
  boolean: '{"type":"boolean"}',
  choice: '{"enum":[]}',
  list: '{"type":"array","items":{"type":"string"}}',
  object: '{"type":"object","properties":{}}',
  other: '{}',
};
/** Keywords that decide the kind, and those that mean nothing to other kinds. */
const kindKeywords = ['type', 'format', 'enum', 'items', 'properties', 'required', 'pattern', 'default'];
const limits = ['minimum', 'maximum'];
const numeric: readonly FieldKind[] = ['number', 'integer'];

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
  const format = textIn(schema, 'format');
  if (type === 'string') return format === 'date' ? 'date' : format === 'date-time' ? 'moment' : 'text';
  if (type === 'number' || type === 'integer' || type === 'boolean') return type;
  if (type === 'object') return memberText(schema, 'properties') === undefined ? 'other' : 'object';
  if (type !== 'array') return 'other';
  return isObjectText(memberText(schema, 'items') ?? '') ? 'list' : 'other';
}

/** Returns the schema of a field with another kind; its title and description stay. */
export function withKind(schema: string, kind: FieldKind): string {
  const known = isObjectText(schema) ? schema : '{}';
  const isNumeric = numeric.includes(kind) && numeric.includes(kindOf(known));
  const dropped = isNumeric ? kindKeywords : [...kindKeywords, ...limits];
  const bare = dropped.reduce((text, keyword) => withMember(text, keyword, undefined), known);
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
  const choices = distinctLines(lines).map((choice) => JSON.stringify(choice));
  return withMember(schema, 'enum', `[${choices.join(',')}]`);
}

/** Returns the lines with a text, each once. */
export function distinctLines(lines: string): readonly string[] {
  return [...new Set(lines.split('\n').filter((line) => line.trim() !== ''))];
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
  if (twice !== undefined) return `Two fields have the name ${twice}.`;
  return fields.map(({ name, schema }) => faultOfField(name, schema)).find((fault) => fault !== undefined);
}

function faultOfField(name: string, schema: string): string | undefined {
  const kind = kindOf(schema);
  if (kind === 'choice' && choicesOf(schema).length === 0) return `The field ${name} needs at least one choice.`;
  if (kind === 'list') return faultOfField(name, memberText(schema, 'items') ?? '{}');
  if (kind === 'object') return faultOfFields(fieldsOf(schema));
  const isText = (key: string): boolean => memberText(schema, key)?.startsWith('"') === true;
  if (numeric.includes(kind) && [...limits, 'default'].some(isText)) {
    return `Default, minimum and maximum of the field ${name} must be numbers.`;
  }
  const pattern = textIn(schema, 'pattern');
  return pattern === undefined || isPattern(pattern) ? undefined : `The pattern of the field ${name} is not valid.`;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    // The service would refuse the schema.
    return false;
  }
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
  if (all(/^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"$/)) return 'moment';
  if (all(/^"/)) return 'text';
  if (all(/^-?\d+$/)) return 'integer';
  if (all(/^-?\d/)) return 'number';
  if (all(/^(?:true|false)$/)) return 'boolean';
  const isList = texts.every((text) => text.startsWith('[') && elementsOf(text).every((each) => each.startsWith('"')));
  return isList ? 'list' : 'other';
}
