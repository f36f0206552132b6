// The value that a filter parameter stands for: JSON where the text is JSON, else the text itself.
import { JsonSyntaxError, parseJson, type JsonValue } from '../../base/json.ts';

/** The value written in a query string; `undefined` when it is JSON with text that no backend can keep. */
export function parseQueryValue(text: string): JsonValue | undefined {
  // Most values are plain words; finding that out by a syntax error costs many times more.
  if (!mayBeJson.test(text)) return text;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.path !== undefined) return undefined;
    if (error instanceof JsonSyntaxError) return text;
    throw error;
  }
}

const mayBeJson = /^[\s"[{\d-]|^(?:true|false|null)\s*$/;
