// The data of an entry of an export. It is checked as the data of a request is: a file may have been edited, or made by another
// program. Almost all data is stored as it is in the file, so the checks parse it once and copy nothing.
import {
  formatJson,
  isJsonObject,
  JsonSyntaxError,
  maxStoredDepth,
  parseStoredJson,
  requireStorableText,
  type JsonObject,
  type JsonValue,
} from '../../base/json.ts';
import { endOfString, findExcess, someNumber } from '../../base/json-text.ts';
import { runAtOnce } from '../../base/steps.ts';
import { BrokenLine } from './broken-line.ts';

/** Limits of the data of an entry. The number of values is not limited: neither is it in imports from a server. */
const limits = { maxDepth: maxStoredDepth, maxValues: Infinity };

/**
 * Returns the text of an object as it is stored: compact, also when the file was edited.
 *
 * @throws BrokenLine for data that a request could not store
 */
export function readEntryData(text: string): string {
  // Each level takes at least two characters.
  if (text.length >= 2 * limits.maxDepth && findExcess(text, limits) !== undefined) {
    throw new BrokenLine(`data is nested deeper than ${limits.maxDepth} levels`);
  }
  const plain = parseText(text);
  if (!isJsonObject(plain)) throw new BrokenLine('data is not an object');
  requireFreeNames(plain);
  const usual = JSON.stringify(plain);
  // If both texts are equal, no name is repeated and no number is exact. An escape may stand for a null character.
  if (usual === text && !text.includes('\\u')) return text;
  requireStorable(text, plain);
  const { names, isCompact } = scan(text);
  if (names !== scan(usual).names) throw new BrokenLine('an object in data has the same name twice');
  return isCompact ? text : formatJson(parseStoredJson(text));
}

/** Parses JSON text, without exact numbers. */
export function parseText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new BrokenLine('not JSON', { cause: error });
  }
}

/** Refuses attributes that the server sets itself, so that no response has a name twice. */
function requireFreeNames(attributes: JsonObject): void {
  const name = ['id', 'last_modified'].find((reserved) => Object.hasOwn(attributes, reserved));
  if (name !== undefined) throw new BrokenLine(`data has the reserved attribute ${name}`);
  if (Object.hasOwn(attributes, 'deleted') && attributes['deleted'] === true) {
    throw new BrokenLine('data has the attribute deleted with the reserved value true');
  }
}

/** Refuses what `parseJson` refuses in the data of requests, without reading all digits. */
function requireStorable(text: string, plain: JsonObject): void {
  if (someNumber(text, (token) => !Number.isFinite(Number(token)))) {
    throw new BrokenLine('data has a number out of range');
  }
  try {
    if (text.includes('\\u')) runAtOnce(requireStorableText(plain, ''));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new BrokenLine(`data.${error.path}: ${error.message}`, { cause: error });
  }
}

/** Counts the names of members in valid JSON, and finds white space outside of strings. */
function scan(text: string): { readonly names: number; readonly isCompact: boolean } {
  let names = 0;
  let isCompact = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) at = endOfString(text, at) - 1;
    else if (code === 58) names++;
    else if (code <= 32) isCompact = false;
  }
  return { names, isCompact };
}
