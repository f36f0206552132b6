// What an import reads: JSON, JSON lines or CSV as rows with members; and the mapping that makes records of them.
import { displayText, elementsOf, faultOfObject, memberText, membersOf } from '../../core/json-text.ts';
import { propertiesOf, shapeOf } from '../../core/json-schema.ts';
import { nameOfCell, parseCsv, separatorOf, valueOfCell } from './csv.ts';

export type Format = 'json' | 'jsonl' | 'csv';

export const formatLabels: Readonly<Record<Format, string>> = { json: 'JSON', jsonl: 'JSON lines', csv: 'CSV' };

/** A row of the file: an element, or a line. */
export interface SourceRow {
  /** Number of the element or the line, from 1. */
  readonly place: number;
  /** Values by field: JSON texts, or cells of CSV. */
  readonly members: ReadonlyMap<string, string>;
  /** Why the row cannot be read. */
  readonly fault?: string;
}

export interface Source {
  readonly format: Format;
  readonly rows: readonly SourceRow[];
  /** All fields, in the order in which they occur. */
  readonly fields: readonly string[];
}

/** How a cell becomes JSON; `json` values stay as they are. */
export type CellKind = 'auto' | 'text' | 'number' | 'boolean' | 'json';

export interface FieldMapping {
  readonly source: string;
  /** Attribute of the record; `''` leaves the field out, `id` is the id of the record. */
  readonly target: string;
  readonly kind: CellKind;
}

/** A record to store. */
export interface Draft {
  readonly place: number;
  /** `''` lets the service generate an id. */
  readonly id: string;
  /** Attributes as JSON text. */
  readonly data: string;
  readonly fault: string | undefined;
}

/** Maximum size of a file in bytes, and of its rows and fields. */
export const maxBytes = 30_000_000;
const maxRows = 200_000;
const maxFields = 500;

/** Returns the format that the name and the content of a file suggest. */
export function formatOf(name: string, text: string): Format {
  if (/\.(?:jsonl|ndjson)$/i.test(name)) return 'jsonl';
  if (/\.(?:csv|tsv)$/i.test(name)) return 'csv';
  const begin = text.trimStart().charAt(0);
  if (/\.json$/i.test(name) || begin === '[') return 'json';
  if (begin !== '{') return 'csv';
  return faultOfObject(text) === undefined ? 'json' : 'jsonl';
}

/**
 * Reads a file.
 *
 * @throws Error when it cannot be read as a whole, or exceeds a limit
 */
export function parseSource(text: string, format: Format): Source {
  const rows = format === 'json' ? jsonRows(text) : format === 'jsonl' ? lineRows(text) : csvRows(text);
  if (rows.length > maxRows) throw new Error(`The file has more than ${maxRows} rows. Split it.`);
  const fields = new Set(rows.flatMap(({ members }) => [...members.keys()]));
  if (fields.size > maxFields) throw new Error(`The file has more than ${maxFields} fields.`);
  return { format, rows, fields: [...fields] };
}

function jsonRows(text: string): readonly SourceRow[] {
  const value = readJson(text);
  const trimmed = text.trim();
  // A response of the service has its list in `data`.
  const list = Array.isArray(value) ? trimmed : trimmed.startsWith('{') ? (memberText(trimmed, 'data') ?? '') : '';
  if (!list.startsWith('[')) throw new Error('Expected an array of objects, or an object with an array `data`.');
  return elementsOf(list).map((element, index) => readRow(index + 1, element));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`This is not valid JSON: ${reason}`, { cause: error });
  }
}

function lineRows(text: string): readonly SourceRow[] {
  return text
    .split('\n')
    .map((line, index) => [line.trim(), index + 1] as const)
    .filter(([line]) => line !== '')
    .map(([line, place]) => {
      const fault = faultOfObject(line);
      return fault === undefined ? readRow(place, line) : { place, members: new Map<string, string>(), fault };
    });
}

function readRow(place: number, text: string): SourceRow {
  if (!text.startsWith('{')) return { place, members: new Map(), fault: 'This is not an object.' };
  return { place, members: new Map(membersOf(text).map(({ key, text: value }) => [key, value])) };
}

function csvRows(text: string): readonly SourceRow[] {
  const [head, ...lines] = parseCsv(text, separatorOf(text));
  const names = head?.cells.map(nameOfCell) ?? [];
  if (names.length === 0) throw new Error('Expected the names of the columns in the first line.');
  if (new Set(names).size < names.length) throw new Error('Two columns have the same name.');
  return lines.map(({ line, cells }) => ({
    place: line,
    members: new Map(names.flatMap((name, index) => (name === '' ? [] : [[name, cells[index] ?? '']]))),
    ...(cells.length > names.length
      ? { fault: `The line has ${cells.length} cells, but the first line names ${names.length} columns.` }
      : {}),
  }));
}

/**
 * Returns the mapping to begin with: each field keeps its name; those that the service maintains are left out. Cells are read
 * as the schema says, so that a text such as `0123` stays one.
 */
export function firstMapping(
  { fields, format }: Source,
  owned: readonly string[],
  schema?: string,
): readonly FieldMapping[] {
  return fields.map((source) => ({
    source,
    target: source !== 'id' && owned.includes(source) ? '' : source,
    kind: format === 'csv' ? cellKindOf(source, schema) : 'json',
  }));
}

/** Returns how the cells of an attribute are read. */
export function cellKindOf(target: string, schema: string | undefined): CellKind {
  if (target === 'id') return 'text';
  const property = schema === undefined ? undefined : propertiesOf(schema).find(({ key }) => key === target);
  return schema === undefined || property === undefined ? 'auto' : kindOf(property.schema, schema);
}

function kindOf(property: string, schema: string): CellKind {
  const { type, choices, isNullable } = shapeOf(property, schema);
  // A cell cannot say both the word null and the absence of a value.
  if (isNullable) return 'auto';
  if (type === 'enum') return choices.every(({ value }) => value.startsWith('"')) ? 'text' : 'auto';
  if (type === 'string') return 'text';
  if (type === 'number' || type === 'boolean') return type;
  return type === 'json' ? 'auto' : 'json';
}

/** Returns the records of a file, each with its fault. */
export function draftsOf({ rows, format }: Source, mapping: readonly FieldMapping[]): readonly Draft[] {
  const places = new Map<string, number>();
  const targets = mapping.map(({ target }) => target).filter((target) => target !== '');
  const twice = targets.find((target, index) => targets.indexOf(target) !== index);
  const ambiguity = twice === undefined ? undefined : `Two fields become the attribute ${twice}.`;
  return rows.map(({ place, members, fault: unreadable }) => {
    let id = '';
    let fault = unreadable ?? ambiguity;
    const parts: string[] = [];
    for (const { source, target, kind } of mapping) {
      const value = members.get(source);
      if (value === undefined || target === '') continue;
      const text = format === 'csv' ? readCell(value, kind) : value;
      if (text === undefined) continue;
      if (text === 'invalid') fault ??= `${source}: ${JSON.stringify(value)} is not ${kindWords[kind]}.`;
      else if (target === 'id') id = text === 'null' ? '' : displayText(text);
      else parts.push(`${JSON.stringify(target)}:${text}`);
    }
    if (id !== '' && !/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id)) fault ??= `The id ${JSON.stringify(id)} is not valid.`;
    const first = id === '' ? undefined : places.get(id);
    if (first !== undefined) fault ??= `The id ${id} occurs already in row ${first}.`;
    else if (id !== '') places.set(id, place);
    return { place, id, data: `{${parts.join(',')}}`, fault };
  });
}

const kindWords: Readonly<Record<CellKind, string>> = {
  auto: 'a value',
  text: 'a text',
  number: 'a number',
  boolean: 'true or false',
  json: 'JSON',
};

/** Returns the JSON of a cell; `undefined` for an empty one, and `invalid`, which no JSON is. */
function readCell(cell: string, kind: CellKind): string | undefined {
  const text = cell.trim();
  if (text === '') return undefined;
  // Exports write texts that look like other JSON with the quotes of JSON.
  if (kind === 'text') return text.startsWith('"') ? valueOfCell(cell) : JSON.stringify(cell);
  if (kind === 'auto') return valueOfCell(cell);
  if (kind === 'number') return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? text : 'invalid';
  if (kind === 'boolean') {
    const word = text.toLowerCase();
    return word === 'true' || word === 'false' ? word : 'invalid';
  }
  try {
    JSON.parse(text);
    return text;
  } catch {
    // Reported by the caller, with the row.
    return 'invalid';
  }
}
