// Codecs: attributes whose values in rows differ from those that the service stores, such as dates.

/** Translates one attribute. Neither function is called for `null` and `undefined`. */
export interface FieldCodec<Row = unknown, Wire = unknown> {
  /** Returns the value in the row for a stored value. */
  parse(stored: Wire): Row;
  /** Returns the value to store. */
  serialize(value: Row): Wire;
  /**
   * What a comparison of stored values says about values of rows. `order`: they compare alike, so ranges and sorting run on
   * the service. `equality`: equal values are stored alike. `none` (default): conditions are evaluated in the client only.
   */
  readonly comparable?: 'order' | 'equality' | 'none';
}

/** Codecs by attribute. */
export type Codecs = Readonly<Record<string, FieldCodec>>;

/**
 * `Date` in rows, and the text of `toISOString` in the service. For attributes that every client writes in this form, with
 * years from 0 to 9999: texts compare like dates.
 */
export const isoDate: FieldCodec<Date, string> = {
  parse: toDate,
  serialize: fromDate,
  comparable: 'order',
};

/** `Date` in rows, and any text that `Date` understands in the service. Conditions are evaluated in the client only. */
export const anyDate: FieldCodec<Date, string> = { parse: toDate, serialize: fromDate };

/** `bigint` in rows, and a text of decimal digits in the service. */
export const bigintText: FieldCodec<bigint, string> = {
  parse: (stored) => (typeof stored === 'string' && /^-?\d{1,400}$/.test(stored) ? BigInt(stored) : stored) as bigint,
  serialize: (value) => (typeof value === 'bigint' ? String(value) : value),
  comparable: 'equality',
};

/** Values that are no dates, which other clients may have stored, stay as they are, and are written as they are. */
function toDate(stored: string): Date {
  const date = new Date(typeof stored === 'string' ? stored : Number.NaN);
  return Number.isNaN(date.getTime()) ? (stored as unknown as Date) : date;
}

function fromDate(date: Date): string {
  return date instanceof Date ? date.toISOString() : date;
}

/** Returns the row of a stored object. */
export function parseRow<T extends object>(stored: object, codecs: Codecs): T {
  return convert(stored, codecs, 'parse') as T;
}

/** Returns the attributes to store for a row, or a part of one. */
export function serializeRow(row: object, codecs: Codecs): Record<string, unknown> {
  return convert(row, codecs, 'serialize');
}

/**
 * Refuses values that JSON does not have, which would be left out, or become other values.
 *
 * @throws TypeError that names the value
 */
export function requireJson(attributes: object): void {
  JSON.stringify(attributes, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    const original = this[name];
    const type = typeOf(value);
    const isLeftOut = value === undefined && !Array.isArray(this);
    const isLost = type === 'Number' ? !Number.isFinite(Number(value)) : value === null && original !== null;
    if (isLeftOut || (jsonTypes.has(type) && !isLost)) return value;
    const what = typeof original === 'number' ? original : `of the type ${typeOf(original)}`;
    throw new TypeError(`"${name}" is ${what}, which JSON does not have. Translate it with a codec in \`fields\`.`);
  });
}

const jsonTypes = new Set(['Object', 'Array', 'String', 'Number', 'Boolean', 'Null']);

/** Returns the name of a type that the language defines; `Object` for classes of applications, whose attributes are stored. */
function typeOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function convert(from: object, codecs: Codecs, direction: 'parse' | 'serialize'): Record<string, unknown> {
  const result: Record<string, unknown> = { ...from };
  for (const [name, codec] of Object.entries(codecs)) {
    const value = Object.hasOwn(result, name) ? result[name] : undefined;
    if (value !== null && value !== undefined) result[name] = codec[direction](value);
  }
  return result;
}
