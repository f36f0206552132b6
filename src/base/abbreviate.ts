// Short forms of text and JSON that clients have sent, for messages. What comes out is bounded, whatever came in.
import { ExactNumber, isJsonObject, type JsonValue } from './json.ts';

/** Returns the text in double quotes, cut where it is longer than that many characters. */
export function quoteText(text: string, maxChars = 60): string {
  const shown = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return JSON.stringify(shown.toWellFormed());
}

/** Names of an object, and items of a list, that are shown. */
const maxShown = 5;
const maxNameChars = 40;

/**
 * Returns the value as JSON for people: a few members of each container, short texts, and `…` for what is left out.
 *
 * @param depth levels of containers that are shown
 */
export function abbreviateJson(value: JsonValue, depth: number): string {
  if (typeof value === 'string') return quoteText(value, maxNameChars);
  if (value instanceof ExactNumber) return value.text.length > maxNameChars ? '…' : value.text;
  if (Array.isArray(value)) {
    if (depth === 0) return value.length === 0 ? '[]' : '[…]';
    const items = (value as readonly JsonValue[]).slice(0, maxShown).map((item) => abbreviateJson(item, depth - 1));
    return `[${[...items, ...(value.length > maxShown ? ['…'] : [])].join(', ')}]`;
  }
  if (!isJsonObject(value)) return JSON.stringify(value);
  const names = Object.keys(value);
  if (depth === 0) return names.length === 0 ? '{}' : '{…}';
  const members = names
    .slice(0, maxShown)
    .map((name) => `${quoteText(name, maxNameChars)}: ${abbreviateJson(value[name]!, depth - 1)}`);
  return `{${[...members, ...(names.length > maxShown ? ['…'] : [])].join(', ')}}`;
}

/** Returns what a value is, for people: `a list`. */
export function describeType(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isJsonObject(value)) return 'an object';
  return typeof value === 'string' ? 'a text' : typeof value === 'boolean' ? String(value) : 'a number';
}
