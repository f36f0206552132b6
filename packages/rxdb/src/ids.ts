// Ids of records for primary keys of any form.
import type { IdMapping } from './options.ts';

const prefix = 'x--';
/** Ids that the service accepts. */
const accepted = /^[a-z0-9][\w-]*$/i;

/**
 * The default translation. Keys that the service accepts as ids stay as they are. Others become `x--` and their
 * percent-encoding with `_` for `%`: `a b` is `x--a_20b`.
 */
export const defaultIds: IdMapping = {
  encode: (key) => (accepted.test(key) && defaultIds.decode(key) === key ? key : escape(key)),
  decode: (id) => {
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
