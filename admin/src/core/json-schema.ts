// JSON Schema as text: what a form needs of it. Values such as defaults keep their digits. Schemas that no form shows, such as
// unions, become fields of JSON. The service validates; nothing here is compiled, as the policy of the page requires.
import { displayText, elementsOf, isObjectText, membersOf, memberText, withMember } from './json-text.ts';

export type FieldType = 'string' | 'number' | 'boolean' | 'enum' | 'array' | 'object' | 'json';

export interface Property {
  readonly key: string;
  /** Schema of the value, as text. */
  readonly schema: string;
  readonly isRequired: boolean;
}

/** A value to choose from, as JSON text. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** What a field needs to know of its schema. */
export interface FieldShape {
  readonly type: FieldType;
  /** The schema without references and without the alternative `null`. */
  readonly schema: string;
  readonly isNullable: boolean;
  /** The values of `enum`, `const`, and unions of constants. */
  readonly choices: readonly Choice[];
}

/** Depth at which nested objects become JSON. */
const maxDepth = 6;
/** Maximum number of references that lead to one schema. */
const maxReferences = 10;

/** Returns the properties that a schema of an object names, in their order. */
export function propertiesOf(schema: string): readonly Property[] {
  if (!isObjectText(schema)) return [];
  const required = listIn(schema, 'required').map(displayText);
  const properties = memberText(schema, 'properties') ?? '{}';
  if (!isObjectText(properties)) return [];
  return membersOf(properties).map(({ key, text }) => ({ key, schema: text, isRequired: required.includes(key) }));
}

/** Returns the field that a schema needs. `root` holds the definitions that `$ref` names. */
export function shapeOf(schema: string, root: string, depth = 0): FieldShape {
  const { schema: plain, isNullable } = withoutNull(resolved(schema, root), root);
  const choices = choicesIn(plain, root);
  const all = isNullable && choices.length > 0 ? [...choices, { value: 'null', label: 'null' }] : choices;
  return { type: typeOf(plain, all, depth), schema: plain, isNullable, choices: all };
}

function typeOf(schema: string, choices: readonly Choice[], depth: number): FieldType {
  if (!isObjectText(schema)) return 'json';
  if (choices.length > 0) return choices.every(({ value }) => !/^[[{]/.test(value)) ? 'enum' : 'json';
  const type = textIn(schema, 'type');
  if (type === 'string' || type === 'boolean') return type;
  if (type === 'integer' || type === 'number') return 'number';
  if (depth >= maxDepth) return 'json';
  if (type === 'array' && isObjectText(memberText(schema, 'items') ?? '')) return 'array';
  // Properties imply an object.
  if ((type === 'object' || type === undefined) && propertiesOf(schema).length > 0) return 'object';
  return 'json';
}

/** Follows references inside the document. What is next to a reference, such as a title, describes its target here. */
export function resolved(schema: string, root: string): string {
  let current = schema;
  for (let count = 0; count < maxReferences; count += 1) {
    const reference = textIn(current, '$ref');
    if (reference?.startsWith('#/') !== true) return current;
    const target = pointed(root, reference.slice(2));
    if (target === undefined || !isObjectText(target)) return current;
    const source = current;
    current = ['title', 'description', 'default'].reduce((text, key) => {
      const value = memberText(source, key);
      return value === undefined ? text : withMember(text, key, value);
    }, target);
  }
  // References in a circle.
  return '{}';
}

function pointed(root: string, pointer: string): string | undefined {
  let at: string | undefined = root;
  for (const part of pointer.split('/')) {
    if (at === undefined || !isObjectText(at)) return undefined;
    at = memberText(at, decodeURIComponentOr(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return at;
}

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not an encoded name, so it is the name itself.
    return text;
  }
}

/** Returns the schema without its alternative `null`: `"type": ["string", "null"]`, or a union with `{"type": "null"}`. */
function withoutNull(schema: string, root: string): { readonly schema: string; readonly isNullable: boolean } {
  if (!isObjectText(schema)) return { schema, isNullable: false };
  const types = listIn(schema, 'type').map(displayText);
  const others = types.filter((type) => type !== 'null');
  if (types.length > others.length && others.length === 1) {
    return { schema: withMember(schema, 'type', JSON.stringify(others[0])), isNullable: true };
  }
  for (const key of ['anyOf', 'oneOf']) {
    const parts = listIn(schema, key);
    const rest = parts.filter((part) => textIn(part, 'type') !== 'null');
    const [only] = rest;
    if (only === undefined || rest.length !== 1 || parts.length !== 2) continue;
    const plain = membersOf(resolved(only, root));
    const outer = withMember(schema, key, undefined);
    // The title of the whole field wins over that of its alternative.
    const missing = plain.filter((member) => memberText(outer, member.key) === undefined);
    return { schema: missing.reduce((text, each) => withMember(text, each.key, each.text), outer), isNullable: true };
  }
  return { schema, isNullable: false };
}

/** Returns the values of `enum` as JSON texts. */
export function choicesOf(schema: string): readonly string[] {
  return listIn(schema, 'enum');
}

function choicesIn(schema: string, root: string): readonly Choice[] {
  if (!isObjectText(schema)) return [];
  const single = memberText(schema, 'const');
  const values = single === undefined ? choicesOf(schema) : [single];
  if (values.length > 0) return values.map((value) => ({ value, label: displayText(value) }));
  for (const key of ['oneOf', 'anyOf']) {
    const parts = listIn(schema, key).map((part) => resolved(part, root));
    const constants = parts.flatMap((part) => {
      const value = isObjectText(part) ? memberText(part, 'const') : undefined;
      return value === undefined ? [] : [{ value, label: textIn(part, 'title') ?? displayText(value) }];
    });
    if (constants.length > 0 && constants.length === parts.length) return constants;
  }
  return [];
}

/** Returns a member that is a text, such as `title`, `description` and `format`. */
export function textIn(schema: string, key: string): string | undefined {
  if (!isObjectText(schema)) return undefined;
  const text = memberText(schema, key);
  return text?.startsWith('"') === true ? displayText(text) : undefined;
}

/** Returns a new object with the defaults of the schema, also of nested objects, and with required constants. */
export function defaultsOf(schema: string, root = schema, depth = 0): string {
  const parts = propertiesOf(resolved(schema, root)).flatMap(({ key, schema: property, isRequired }) => {
    const value = defaultOf(property, root, isRequired, depth);
    return value === undefined ? [] : [`${JSON.stringify(key)}:${value}`];
  });
  return `{${parts.join(',')}}`;
}

function defaultOf(property: string, root: string, isRequired: boolean, depth: number): string | undefined {
  const { type, schema } = shapeOf(property, root, depth);
  if (!isObjectText(schema)) return undefined;
  const own = memberText(schema, 'default') ?? (isRequired ? memberText(schema, 'const') : undefined);
  if (own !== undefined || type !== 'object') return own;
  const nested = defaultsOf(schema, root, depth + 1);
  return nested === '{}' ? undefined : nested;
}

/** Returns the first value of a new element of an array. */
export function emptyValueOf(items: string, root: string): string {
  const { type, schema, choices } = shapeOf(items, root);
  const value = isObjectText(schema) ? memberText(schema, 'default') : undefined;
  if (value !== undefined) return value;
  switch (type) {
    case 'number':
      return '0';
    case 'boolean':
      return 'false';
    case 'enum':
      return choices[0]?.value ?? 'null';
    case 'array':
      return '[]';
    case 'object':
      return defaultsOf(schema, root);
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
  if (!isObjectText(schema)) return [];
  const text = memberText(schema, key) ?? '[]';
  return text.startsWith('[') ? elementsOf(text) : [];
}
