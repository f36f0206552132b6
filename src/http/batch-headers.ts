// Checks the headers of batch entries. Node.js checks those of single requests.
import { isJsonObject, type JsonValue } from '../base/json.ts';

/**
 * Returns why an entry cannot have these headers, or `undefined` when it can.
 *
 * @param maxBytes maximum size of names and values, the limit of a single request: policies and caches rely on it
 */
export function findHeadersFault(headers: JsonValue, maxBytes: number): string | undefined {
  if (!isJsonObject(headers)) return expected;
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderValue(value)) return expected;
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  return bytes > maxBytes ? `expected at most ${maxBytes} bytes, with the headers of the defaults` : undefined;
}

const expected = 'expected an object of texts';

function isHeaderValue(value: JsonValue | undefined): value is string {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not get through
  return typeof value === 'string' && !/[\0-\x08\n-\x1f\x7f]/.test(value);
}
