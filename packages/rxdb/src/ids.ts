// Ids of records for primary keys of any form.
import type { IdMapping } from './options.ts';

const prefix = 'x--';
/** Ids that the service accepts. */
const accepted = /^[a-z0-9][\w-]*$/i;

/**
 * Returns whether a primary key is none for RxDB: the name of a member of all objects, such as `constructor`. RxDB finds it in the
 * objects that it uses as maps, fails, and drops the other documents of the same batch.
 */
export function isReserved(key: string): boolean {
  return key in Object.prototype;
}

/**
 * The default translation. Keys that the service accepts as ids stay as they are. Others become `x--` and their
 * percent-encoding with `_` for `%`: `a b` is `x--a_20b`. The record `constructor` has the key `constructor!`.
 */
export const defaultIds: IdMapping = {
  encode: (key) => {
    if (isReserved(key)) throw new Error(`RxDB cannot replicate the primary key "${key}"`);
    const [, name] = /^(.*)!$/s.exec(key) ?? [];
    if (name !== undefined && isReserved(name) && accepted.test(name)) return name;
    return accepted.test(key) && defaultIds.decode(key) === key ? key : escape(key);
  },
  decode: (id) => {
    if (isReserved(id)) return `${id}!`;
    if (!id.startsWith(prefix)) return id;
    try {
      const key = decodeURIComponent(id.slice(prefix.length).replaceAll('_', '%'));
      // Ids that other clients have chosen are no encoded keys.
      return defaultIds.encode(key) === id ? key : id;
    } catch {
      return id;
    }
  },
};

function escape(key: string): string {
  const rest = encodeURIComponent(key).replace(/[_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return prefix + rest.replaceAll('%', '_');
}
