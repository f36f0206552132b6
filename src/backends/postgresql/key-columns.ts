// The keys of declared indexes: columns of the rows of objects, with an index each.
import type { IndexKeys } from '../../core/objects/stored.ts';
import { indexSlots, keySlots, wordSlot } from '../../core/index/definition.ts';

const slots = Array.from({ length: keySlots }, (_, slot) => slot);
const names = slots.map((slot) => (slot === wordSlot ? 'words' : `key${slot}`));

/** Names of the columns, by slot. */
export const keyColumns = names.join(', ');

/** Columns of the row that could not be inserted, by slot. */
export const excludedColumns = names.map((name) => `excluded.${name}`).join(', ');

/**
 * Returns the values of all columns from an array with the keys of objects, slot by slot.
 *
 * @param number of the object, from 1
 */
export function keysFrom(array: string, number = '1'): string {
  return slots
    .map((slot) => `${array}[${number === '1' ? slot + 1 : `${keySlots} * (${number} - 1) + ${slot + 1}`}]`)
    .join(', ');
}

/** Adds the columns for indexes of values, with an index each. */
export const addKeyColumns = slots
  .slice(0, indexSlots)
  .map(
    (slot) => `ALTER TABLE coffer_objects ADD COLUMN key${slot} bytea;
        CREATE INDEX coffer_objects_by_key${slot} ON coffer_objects (list, key${slot}, last_modified DESC)
          WHERE key${slot} IS NOT NULL;`,
  )
  .join('\n');

/**
 * Adds the column for words, separated by spaces, and its index. Each word in the index begins with the number of the list
 * and an x, so that one index serves all lists.
 */
export const addWordColumn = `
  ALTER TABLE coffer_objects ADD COLUMN words bytea;
  CREATE FUNCTION coffer_words(list bigint, words bytea) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS $$
    SELECT array_to_tsvector(
      string_to_array(list || 'x' || replace(convert_from(words, 'UTF8'), ' ', ' ' || list || 'x'), ' ')
    )
  $$;
  CREATE INDEX coffer_objects_by_words ON coffer_objects USING gin (coffer_words(list, words)) WITH (fastupdate = off)
    WHERE words IS NOT NULL;
`;

/** Returns the keys of objects as `keysFrom` reads them. */
export function keyArray(all: readonly (IndexKeys | undefined)[]): readonly (string | null)[] {
  return all.flatMap((keys) =>
    slots.map((slot) => {
      const key = keys?.[slot];
      return key === undefined ? null : byteText(key);
    }),
  );
}

/** Returns bytes in the form in which the server reads them. */
export function byteText(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}
