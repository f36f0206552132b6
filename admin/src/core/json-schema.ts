// JSON Schema as text: what a form needs of it. Values such as defaults keep their digits. Schemas that no form shows, such as
// unions, become fields of JSON. The service validates; nothing here is compiled, as the policy of the page requires.
import { displayText, elementsOf, isObjectText, membersOf, memberText } from './json-text.ts';

export type FieldType = 'string' | 'number' | 'boolean' | 'enum' | 'array' | 'object' | 'json';

export interface Property {
  readonly key: string;
  /** Schema of the value, as text. */
  readonly schema: string;
  readonly isRequired: boolean;
}

/** Depth at which nested objects become JSON. */
const maxDepth = 6;

/** Returns the properties that a schema of an object names, in their order. */
export function propertiesOf(schema: string): readonly Property[] {
  if (!isObjectText(schema)) return [];
  const required = listIn(schema, 'required').map(displayText);
  const properties = memberText(schema, 'properties') ?? '{}';
  if (!isObjectText(properties)) return [];
  return membersOf(properties).map(({ key, text }) => ({ key, schema: text, isRequired: required.includes(key) }));
}

/** Returns the kind of field that a schema needs. */
export function fieldTypeOf(schema: string, depth = 0): FieldType {
  if (!isObjectText(schema)) return 'json';
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices.every((choice) => !/^[[{]/.test(choice)) ? 'enum' : 'json';
  const type = textIn(schema, 'type');
  if (type === 'string' || type === 'boolean') return type;
  if (type === 'integer' || type === 'number') return 'number';
  if (depth >= maxDepth) return 'json';
  if (type === 'array' && isObjectText(memberText(schema, 'items') ?? '')) return 'array';
  if (type === 'object' && propertiesOf(schema).length > 0) return 'object';
  return 'json';
}

/** Returns the values of `enum` as JSON texts. */
export function choicesOf(schema: string): readonly string[] {
  return listIn(schema, 'enum');
}

/** Returns a member that is a text, such as `title`, `description` and `format`. */
export function textIn(schema: string, key: string): string | undefined {
  if (!isObjectText(schema)) return undefined;
  const text = memberText(schema, key);
  return text?.startsWith('"') === true ? displayText(text) : undefined;
}

/** Returns a new object with the defaults of the schema. */
export function defaultsOf(schema: string): string {
  const parts = propertiesOf(schema).flatMap(({ key, schema: property }) => {
    const value = isObjectText(property) ? memberText(property, 'default') : undefined;
    return value === undefined ? [] : [`${JSON.stringify(key)}:${value}`];
  });
  return `{${parts.join(',')}}`;
}

/** Returns the first value of a new element of an array. */
export function emptyValueOf(schema: string): string {
  const value = isObjectText(schema) ? memberText(schema, 'default') : undefined;
  if (value !== undefined) return value;
  switch (fieldTypeOf(schema)) {
    case 'number':
      return '0';
    case 'boolean':
      return 'false';
    case 'enum':
      return choicesOf(schema)[0] ?? 'null';
    case 'array':
      return '[]';
    case 'object':
      return defaultsOf(schema);
    case 'json':
      return 'null';
    case 'string':
      return '""';
  }
}

/** Returns what was typed into a field for a number: a number to the last digit, or a text that the service will refuse. */
export function numberText(typed: string): string {
  const text = typed.trim();
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? text : JSON.stringify(typed);
}

function listIn(schema: string, key: string): readonly string[] {
  const text = memberText(schema, key) ?? '[]';
  return text.startsWith('[') ? elementsOf(text) : [];
}
