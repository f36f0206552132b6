// Which attributes of records are columns: those that the user chose, those that the collection names, or frequent ones.
import { propertiesOf } from '../../core/json-schema.ts';
import { displayText, elementsOf, memberText, membersOf } from '../../core/json-text.ts';

/** Columns of a collection as the user chose them. */
export interface ColumnChoice {
  /** Attributes in their order; `undefined` means the columns of the collection. */
  readonly fields: readonly string[] | undefined;
  /** Widths in pixels by attribute. */
  readonly widths: Readonly<Record<string, number>>;
}

const guessedColumns = 4;
/** Maximum number of attributes to choose from. */
const maxFields = 200;
/** Attributes that are no columns of their own unless they are chosen. */
const hidden = new Set(['id', 'last_modified', 'schema']);

export const noChoice: ColumnChoice = { fields: undefined, widths: {} };

/** Returns a stored choice, or `undefined` for an invalid one. */
export function checkChoice({ fields, widths }: Record<string, unknown>): ColumnChoice | undefined {
  if (fields === undefined && widths === undefined) return undefined;
  const named = Array.isArray(fields)
    ? fields.filter((field) => typeof field === 'string').slice(0, maxFields)
    : undefined;
  const sizes = Object.entries(typeof widths === 'object' && widths !== null ? widths : {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] >= 40 && entry[1] <= 2000,
  );
  return { fields: named, widths: Object.fromEntries(sizes) };
}

/** Returns the attributes to show, without `id`, which is always the first column. */
export function columnsOf(choice: ColumnChoice, collection: string, rows: readonly string[]): readonly string[] {
  if (choice.fields !== undefined) return choice.fields;
  const named = displayFieldsOf(collection);
  return [...(named.length > 0 ? named : frequentFields(rows).slice(0, guessedColumns)), 'last_modified'];
}

/** Returns all attributes that can be columns: those shown, of the schema, and of the rows. */
export function knownFields(
  shown: readonly string[],
  schema: string | undefined,
  rows: readonly string[],
): readonly string[] {
  const ofSchema = schema === undefined ? [] : propertiesOf(schema).map(({ key }) => key);
  const all = new Set([...shown, ...ofSchema, ...frequentFields(rows), 'last_modified']);
  all.delete('id');
  return [...all].slice(0, maxFields);
}

function displayFieldsOf(collection: string): readonly string[] {
  const text = memberText(collection, 'displayFields') ?? '[]';
  if (!text.startsWith('[')) return [];
  return elementsOf(text)
    .filter((element) => element.startsWith('"'))
    .map(displayText)
    .filter((name) => name !== 'id' && name !== 'last_modified');
}

function frequentFields(rows: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { key } of rows.flatMap((row) => membersOf(row))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts]
    .filter(([key]) => !hidden.has(key))
    .toSorted(([, a], [, b]) => b - a)
    .map(([key]) => key);
}
