// JSON from clients, read with errors that name line and column. `parseJson` does not do this, because it also tries values
// that are mostly not JSON, where the description would cost time for nothing.
import { JsonReader, JsonSyntaxError, noJsonLimits, parseJson, type JsonLimits, type JsonValue } from './json.ts';

/**
 * Reads JSON text as `parseJson` does.
 *
 * @throws JsonSyntaxError as `parseJson` does; for a malformed text with line, column and expectation
 */
export function parseRequestJson(text: string, limits?: JsonLimits): JsonValue {
  try {
    return parseJson(text, limits);
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.cause !== undefined) throw locate(text);
    throw error;
  }
}

/** Finds the error again with our reader: messages of `JSON.parse` quote the text and mostly name no line. */
function locate(text: string): JsonSyntaxError {
  try {
    new JsonReader(text, noJsonLimits).advance(Infinity);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
    throw error;
  }
  return new JsonSyntaxError('malformed JSON');
}
