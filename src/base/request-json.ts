// JSON that clients send, read with errors that name line and column. Apart from `parseJson`, which also tries values that
// are mostly no JSON, and must not spend time on describing them.
import { JsonReader, JsonSyntaxError, noJsonLimits, parseJson, type JsonLimits, type JsonValue } from './json.ts';

/**
 * Reads JSON text as `parseJson` does.
 *
 * @throws JsonSyntaxError as `parseJson` does; for a malformed text with the place and what was expected there
 */
export function parseRequestJson(text: string, limits?: JsonLimits): JsonValue {
  try {
    return parseJson(text, limits);
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.cause !== undefined) throw locate(text);
    throw error;
  }
}

/** What `JSON.parse` says quotes the text, and names no line in most cases; the reader stops at the same place. */
function locate(text: string): JsonSyntaxError {
  try {
    new JsonReader(text, noJsonLimits).advance(Infinity);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
    throw error;
  }
  return new JsonSyntaxError('malformed JSON');
}
