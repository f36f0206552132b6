// Bounded excerpts of text and JSON from clients, for messages.
import { ExactNumber, isJsonObject, type JsonValue } from './json.ts';

/** Returns the text, cut to that many characters. */
export function abbreviate(text: string, maxChars = 100): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}

/** Returns the text in double quotes, cut to that many characters. */
export function quoteText(text: string, maxChars = 60): string {
  const shown = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return JSON.stringify(shown.toWellFormed());
}

/** Maximum number of members of an object or items of an array in an excerpt. */
const maxShown = 5;
const maxNameChars = 40;

/**
 * Returns an excerpt of the value as JSON: a few members of each container, short strings, and `…` for omissions.
 *
 * @param depth maximum number of nested containers
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

/** Returns the type of a value with its article: `a list`. */
export function describeType(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isJsonObject(value)) return 'an object';
  return typeof value === 'string' ? 'a text' : typeof value === 'boolean' ? String(value) : 'a number';
}
