// Small functions on values: ids, timestamps, equality, headers.
import { CofferError } from './errors.ts';
import type { Gone, Tombstone } from './types.ts';

/** Returns a new id in the form of a UUID version 4. Its first 12 digits are the time, so that new ids sort together. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-4xxx-yxxx-xxxxxxxxxxxx`.replaceAll(/[xy]/g, (place) => {
    const [random = 0] = crypto.getRandomValues(new Uint8Array(1));
    return (place === 'x' ? random & 15 : (random & 3) | 8).toString(16);
  });
}

/**
 * Returns an id as a part of a path.
 *
 * @throws CofferError for ids that would make another path: without it, a deletion of `''` or `..` would delete the list
 */
export function partOf(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new CofferError('validation', `"${id}" is no id`);
  return encodeURIComponent(id);
}

/** Returns a timestamp in the form of an `ETag` header. `*` remains as it is. */
export function etagOf(revision: number | string | undefined): string | undefined {
  const text = bareOf(revision);
  return text && text !== '*' ? `"${text}"` : text;
}

/** Returns a timestamp without quotes. */
export function bareOf(revision: number | string): string;
export function bareOf(revision: number | string | null | undefined): string | undefined;
export function bareOf(revision: number | string | null | undefined): string | undefined {
  return revision === null || revision === undefined ? undefined : String(revision).replaceAll('"', '');
}

/** Compares values of JSON. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && includes(b, a);
}

/** Returns whether an object has all members of another one, with equal values. */
export function includes(whole: object, part: object): boolean {
  return Object.entries(part).every(
    ([name, value]) => Object.hasOwn(whole, name) && isEqual((whole as Record<string, unknown>)[name], value),
  );
}

/** Returns whether a change removes an object from the copy: a tombstone, or a marker of an object that does not match. */
export function isRemoval(change: object): change is Tombstone | Gone {
  const { deleted, gone } = change as { deleted?: unknown; gone?: unknown };
  // Objects may have an attribute `gone`. Markers have nothing else.
  return deleted === true || (gone === true && Object.keys(change).length < 4);
}

/** Returns the members that are not `undefined`. */
export function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}

/** Formats preconditions as headers. */
export function preconditions({
  ifMatch,
  ifNoneMatch,
}: {
  readonly ifMatch?: number | string | undefined;
  readonly ifNoneMatch?: number | string | undefined;
}): Record<string, string> {
  return defined<Record<string, string | undefined>>({
    'If-Match': etagOf(ifMatch),
    'If-None-Match': etagOf(ifNoneMatch),
  });
}
