// Comparison of answers with what a table says about them. Objects name the keys that matter, lists are complete and in
// order, and a few marks stand for more than one value.

/** Something that is not a value itself but says which values are fine. */
export interface Mark {
  readonly describe: string;
  readonly accepts: (value: unknown) => boolean;
  /** For marks that hold texts: the same mark with other texts. */
  readonly mapTexts?: (change: (text: string) => unknown) => Mark;
}

/** The key must not be there. */
export const absent: Mark = mark('nothing', (value) => value === undefined);
export const anything: Mark = mark('anything', (value) => value !== undefined);
export const aText: Mark = mark('a text', (value) => typeof value === 'string' && value !== '');
export const anInteger: Mark = mark('an integer', (value) => Number.isInteger(value));
export const aTimestamp: Mark = mark(
  'a timestamp of now',
  (value) => typeof value === 'number' && value > 1_600_000_000_000,
);
export const anEtag: Mark = mark('a quoted timestamp', (value) => typeof value === 'string' && /^"\d+"$/.test(value));
export const aUuid: Mark = mark(
  'a UUID',
  (value) => typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(value),
);

/** The key may be missing, which depends on the backend. */
export function optional(expected: unknown): Mark {
  return mark('a value or nothing', (value) => value === undefined || differences(value, expected).length === 0);
}

/** The object has these keys and no other. */
export function only(expected: object): Mark {
  return composite(
    'only',
    expected,
    (value) => {
      if (!isObject(value) || !Object.keys(value).every((key) => Object.hasOwn(expected, key))) return false;
      const missing = Object.entries(expected).filter(([key]) => !Object.hasOwn(value, key));
      return (
        missing.every(([, item]) => isMark(item) && item.accepts(undefined)) &&
        differences(value, expected).length === 0
      );
    },
    (mapped) => only(mapped),
  );
}

/** The list has these items, in whatever order. */
export function unordered(...expected: readonly unknown[]): Mark {
  return composite(
    'in any order',
    expected,
    (value) => {
      if (!Array.isArray(value) || value.length !== expected.length) return false;
      return expected.every((item) => value.some((candidate) => differences(candidate, item).length === 0));
    },
    (mapped) => unordered(...mapped),
  );
}

/** The list has at least these items. */
export function including(...expected: readonly unknown[]): Mark {
  return composite(
    'a list including',
    expected,
    (value) => {
      if (!Array.isArray(value)) return false;
      return expected.every((item) => value.some((candidate) => differences(candidate, item).length === 0));
    },
    (mapped) => including(...mapped),
  );
}

/** The list has this many items. */
export function items(count: number): Mark {
  return mark(`${count} items`, (value) => Array.isArray(value) && value.length === count);
}

/** Objects of a list by their ids, in order. */
export function ids(list: string): readonly { readonly id: string }[] {
  return list
    .split(' ')
    .filter(Boolean)
    .map((id) => ({ id }));
}

/** A header that lists these words, among others. */
export function words(list: string): Mark {
  const expected = list.split(' ');
  return mark(`a list with ${list}`, (value) => {
    const found = typeof value === 'string' ? value.split(',').map((word) => word.trim()) : [];
    return expected.every((word) => found.includes(word));
  });
}

/** What is wrong with a value, one sentence for each place; empty when it is as expected. */
export function differences(value: unknown, expected: unknown, place = ''): readonly string[] {
  if (isMark(expected)) return expected.accepts(value) ? [] : [complaint(place, expected.describe, value)];
  if (expected instanceof RegExp) {
    return typeof value === 'string' && expected.test(value) ? [] : [complaint(place, String(expected), value)];
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(value) || value.length !== expected.length)
      return [complaint(place, JSON.stringify(expected), value)];
    return expected.flatMap((item, index) => differences(value[index], item, `${place}.${index}`));
  }
  if (isObject(expected)) {
    if (!isObject(value)) return [complaint(place, JSON.stringify(expected), value)];
    return Object.entries(expected).flatMap(([key, item]) =>
      differences(ownValue(value, key), item, `${place}.${key}`),
    );
  }
  return Object.is(value, expected) ? [] : [complaint(place, JSON.stringify(expected), value)];
}

/** A copy in which every text has gone through the function. */
export function mapTexts(value: unknown, change: (text: string) => unknown): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (isMark(value)) return value.mapTexts?.(change) ?? value;
  if (!isObject(value) || value instanceof RegExp) return value;
  const entries = Object.entries(value).map(([key, item]) => [String(change(key)), mapTexts(item, change)]);
  return Object.fromEntries(entries);
}

function mark(describe: string, accepts: Mark['accepts']): Mark {
  return { describe, accepts };
}

function composite<T extends object>(
  title: string,
  expected: T,
  accepts: Mark['accepts'],
  rebuild: (mapped: T) => Mark,
): Mark {
  // The shape stays the same, only texts inside it change.
  const change: NonNullable<Mark['mapTexts']> = (text) => rebuild(mapTexts(expected, text) as T);
  return { describe: `${title} ${JSON.stringify(expected)}`, accepts, mapTexts: change };
}

function isMark(value: unknown): value is Mark {
  return isObject(value) && typeof value['accepts'] === 'function';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function ownValue(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function complaint(place: string, expected: string, value: unknown): string {
  return `${place === '' ? 'the whole' : place.slice(1)}: expected ${expected}, got ${JSON.stringify(value)}`;
}
