// Writes TypeScript types from a JSON Schema. What types cannot express, such as patterns and limits of numbers, is left out.
import { formatComment, formatKey, formatText, TypeNames } from './type-names.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A schema that is too large or too deep for types. */
export class SchemaTooLarge extends Error {}

const maxDepth = 100;
const maxNodes = 50_000;

/** Attributes of every object, which clients add to the types of records. */
const reserved: readonly string[] = ['id', 'last_modified', 'schema'];

interface Type {
  readonly text: string;
  /** Whether it is a union or an intersection. */
  readonly needsBrackets: boolean;
}

/**
 * Returns the declarations of a type, which all the schemas apply to, and of everything that they refer to.
 *
 * @throws SchemaTooLarge
 */
export function formatTypes(schemas: readonly unknown[], name: string): string {
  const names = new TypeNames();
  const own = names.claim(name);
  if (schemas.length === 1) return new Writer(schemas[0], names).write(own);
  const parts = schemas.map((schema) => ({ schema, part: names.claim(`${own} part`) }));
  const whole = `export type ${own} = ${parts.map(({ part }) => part).join(' & ')};\n`;
  return [whole, ...parts.map(({ schema, part }) => new Writer(schema, names).write(part))].join('\n');
}

class Writer {
  readonly #root: unknown;
  readonly #names: TypeNames;
  /** Names of the types of references, by their target. */
  readonly #references = new Map<string, string>();
  readonly #declarations: string[] = [];
  /** Types that are being declared, without an object or array in between: they must not refer to themselves. */
  #open: ReadonlySet<string> = new Set();
  #nodes = 0;

  constructor(root: unknown, names: TypeNames) {
    this.#root = root;
    this.#names = names;
  }

  write(name: string): string {
    this.#references.set('#', name);
    this.#declare(name, this.#root, true);
    return this.#declarations.join('\n');
  }

  #declare(name: string, schema: unknown, isRoot: boolean): void {
    const place = this.#declarations.push('') - 1;
    const comment = isSchema(schema) ? formatComment(schema['description'] ?? schema['title'], '') : '';
    const open = this.#open;
    this.#open = new Set([...open, name]);
    const { text } = this.#typeOf(schema, '', 0, isRoot);
    this.#open = open;
    const isBody = text.startsWith('{\n') && text.indexOf('\n}') === text.length - 2;
    const declaration = isBody ? `interface ${name} ${text}` : `type ${name} = ${text};`;
    this.#declarations[place] = `${comment}export ${declaration}\n`;
  }

  #typeOf(schema: unknown, indent: string, depth: number, isRoot = false): Type {
    this.#nodes += 1;
    if (depth > maxDepth) throw new SchemaTooLarge(`the schema has more than ${maxDepth} levels`);
    if (this.#nodes > maxNodes) throw new SchemaTooLarge(`the schema has more than ${maxNodes} parts`);
    if (schema === false) return simple('never');
    if (!isSchema(schema)) return simple('unknown');
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === 'string') return this.#referTo($ref);
    if ('const' in schema) return simple(this.#literal(schema['const'], depth));
    if (Array.isArray(schema['enum']))
      return unionOf(schema['enum'].map((value) => simple(this.#literal(value, depth))));
    const own = this.#ownType(schema, indent, depth, isRoot);
    const parts = own.text === 'unknown' ? [] : [own];
    const below = (each: unknown): Type => this.#typeOf(each, indent, depth + 1, isRoot);
    if (Array.isArray(allOf)) parts.push(...allOf.map(below).filter(({ text }) => text !== 'unknown'));
    for (const choice of [anyOf, oneOf]) if (Array.isArray(choice)) parts.push(unionOf(choice.map(below)));
    return join(parts, ' & ', 'unknown');
  }

  /** Returns the type without combinations. */
  #ownType(schema: Schema, indent: string, depth: number, isRoot: boolean): Type {
    const { type } = schema;
    if (Array.isArray(type)) {
      const known = type.filter((each) => typeof each === 'string');
      return unionOf(known.map((each) => this.#plainType(each, schema, indent, depth, isRoot)));
    }
    if (typeof type === 'string') return this.#plainType(type, schema, indent, depth, isRoot);
    const isObject = ['properties', 'required', 'additionalProperties', 'patternProperties'].some(
      (name) => name in schema,
    );
    if (isObject) return this.#inside(() => this.#objectType(schema, indent, depth, isRoot));
    return 'items' in schema || 'prefixItems' in schema
      ? this.#inside(() => this.#arrayType(schema, indent, depth))
      : simple('unknown');
  }

  #plainType(type: string, schema: Schema, indent: string, depth: number, isRoot: boolean): Type {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return simple(type);
      case 'number':
      case 'integer':
        return simple('number');
      case 'array':
        return this.#inside(() => this.#arrayType(schema, indent, depth));
      case 'object':
        return this.#inside(() => this.#objectType(schema, indent, depth, isRoot));
      default:
        return simple('unknown');
    }
  }

  /** Runs a function inside an object or array, where types may refer to themselves. */
  #inside(format: () => Type): Type {
    const open = this.#open;
    this.#open = new Set();
    const type = format();
    this.#open = open;
    return type;
  }

  #arrayType(schema: Schema, indent: string, depth: number): Type {
    const { items, prefixItems, additionalItems, minItems } = schema;
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
    const rest = Array.isArray(prefixItems) ? items : Array.isArray(items) ? additionalItems : items;
    const restType = this.#typeOf(rest, indent, depth + 1);
    if (first === undefined) return simple(`${bracket(restType)}[]`);
    const needed = typeof minItems === 'number' ? minItems : 0;
    const places = first.map((each: unknown, index) => {
      const type = this.#typeOf(each, indent, depth + 1);
      return index < needed ? type.text : `${bracket(type)}?`;
    });
    const more = rest === false ? [] : [`...${bracket(restType)}[]`];
    return simple(`[${[...places, ...more].join(', ')}]`);
  }

  #objectType(schema: Schema, indent: string, depth: number, isRoot: boolean): Type {
    const { properties, required, additionalProperties, patternProperties } = schema;
    const declared = isSchema(properties) ? Object.entries(properties) : [];
    const needed = new Set<unknown>(Array.isArray(required) ? required : []);
    const missing = [...needed].filter(
      (name): name is string => typeof name === 'string' && !declared.some(([other]) => other === name),
    );
    const inner = `${indent}  `;
    const types = [...declared, ...missing.map((name) => [name, true] as const)]
      .filter(([name]) => !(isRoot && reserved.includes(name)))
      .map(([name, value]) => {
        const isNeeded = needed.has(name) || (isSchema(value) && value['required'] === true);
        const comment = isSchema(value) ? formatComment(value['description'] ?? value['title'], inner) : '';
        const { text } = this.#typeOf(value, inner, depth + 1);
        return { line: `${comment}${inner}${formatKey(name)}${isNeeded ? '' : '?'}: ${text};\n`, text, isNeeded };
      });
    const others = [
      ...(additionalProperties === undefined || additionalProperties === false ? [] : [additionalProperties]),
      ...(isSchema(patternProperties) ? Object.values(patternProperties) : []),
    ].map((each) => this.#typeOf(each, inner, depth + 1));
    const isOpen = types.length === 0 && additionalProperties !== false && others.length === 0;
    if (isOpen) return simple('{ [name: string]: unknown }');
    if (types.length === 0 && others.length === 0) return simple('{ [name: string]: never }');
    // The type of an index has to cover the declared properties.
    const all = [...others, ...types.map(({ text }) => ({ text, needsBrackets: true }))];
    const optional = types.some(({ isNeeded }) => !isNeeded) ? [simple('undefined')] : [];
    const index = others.length === 0 ? '' : `${inner}[name: string]: ${unionOf([...all, ...optional]).text};\n`;
    return simple(`{\n${types.map(({ line }) => line).join('')}${index}${indent}}`);
  }

  /** Returns the name of the type of a reference, which is declared once. References to the outside are not followed. */
  #referTo(reference: string): Type {
    if (!reference.startsWith('#')) return simple('unknown');
    const known = this.#references.get(reference === '#/' ? '#' : reference);
    if (known !== undefined) return simple(this.#open.has(known) ? 'unknown' : known);
    const target = this.#find(reference);
    if (target === undefined) return simple('unknown');
    const name = this.#names.claim(reference.slice(reference.lastIndexOf('/') + 1));
    this.#references.set(reference, name);
    this.#declare(name, target, false);
    return simple(name);
  }

  #find(reference: string): unknown {
    let found: unknown = this.#root;
    for (const part of decode(reference).split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
      found = (found as Readonly<Record<string, unknown>>)[name];
    }
    return found;
  }

  /** Returns the type of exactly one value. */
  #literal(value: unknown, depth: number): string {
    this.#nodes += 1;
    if (depth > maxDepth || this.#nodes > maxNodes) throw new SchemaTooLarge('the schema has too many values');
    if (typeof value === 'string') return formatText(value);
    if (typeof value === 'number') return isExact(value) ? String(value) : 'number';
    if (value === null || typeof value === 'boolean') return String(value);
    if (Array.isArray(value)) return `[${value.map((each) => this.#literal(each, depth + 1)).join(', ')}]`;
    const members = Object.entries(value as object).map(
      ([name, each]) => `${formatKey(name)}: ${this.#literal(each, depth + 1)}`,
    );
    return members.length === 0 ? '{ [name: string]: never }' : `{ ${members.join('; ')} }`;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a number is the one that was written, and can be written in a type. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

function decode(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

function simple(text: string): Type {
  return { text, needsBrackets: false };
}

function bracket({ text, needsBrackets }: Type): string {
  return needsBrackets ? `(${text})` : text;
}

/** Returns the union of types, each of them once. */
function unionOf(types: readonly Type[]): Type {
  if (types.some(({ text }) => text === 'unknown')) return simple('unknown');
  const several = types.filter(({ text }) => text !== 'never');
  return join(several, ' | ', 'never');
}

function join(types: readonly Type[], operator: string, none: string): Type {
  const texts = [...new Set(types.map((type) => (types.length === 1 ? type.text : bracket(type))))];
  if (texts.length === 0) return simple(none);
  if (texts.length === 1) return types[0]!;
  return { text: texts.join(operator), needsBrackets: true };
}
