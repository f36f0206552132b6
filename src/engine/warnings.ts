// The `Warning` header, for requests that are valid but probably not what their author meant, and the `Alert` header.
import { suggestFilter, suggestReserved } from '../core/query/suggestions.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders } from './exchange.ts';

/** Name of the header. Scripts of other origins may read it. */
export const warningHeader = 'Warning';

/** Maximum number of warnings in one response. */
const maxWarnings = 3;

/** Maximum number of parameters that are compared with known names; a query may have thousands. */
const maxCompared = 50;

type Query = Context['query'];

/** Returns the warnings about parameters of a list that are ignored; `undefined` for nearly all queries. */
export function warnOfIgnored(query: Query): ResponseHeaders | undefined {
  return headersOf(
    findTexts(query, (name) => (isReserved(name) ? describeIgnored(name, suggestReserved(name)) : undefined)),
  );
}

/** Returns the warnings about misspelt `_fields` in the query of a single object, which ignores all other parameters. */
export function warnOfIgnoredFields(query: Query): ResponseHeaders | undefined {
  const describe = (name: string): string | undefined => {
    const meant = isReserved(name) ? suggestReserved(name) : suggestFilter(name);
    return meant === '_fields' ? describeIgnored(name, meant) : undefined;
  };
  return headersOf(findTexts(query, describe));
}

function describeIgnored(name: string, meant: string | undefined): string | undefined {
  return meant === undefined ? undefined : `the parameter ${printable(name)} is ignored; did you mean ${meant}?`;
}

/** Adds warnings about filters that look like misspelt operators or parameters, for a query without results. */
export function warnOfFilters(headers: ResponseHeaders, query: Query): void {
  const texts = findTexts(query, (name) => {
    const meant = isReserved(name) ? undefined : suggestFilter(name);
    if (meant === undefined) return undefined;
    return `${printable(name)} filters by an attribute of that name; did you mean ${printable(meant)}?`;
  });
  if (texts === undefined) return;
  const others = headers[warningHeader];
  headers[warningHeader] = others === undefined ? formatWarnings(texts) : `${String(others)}, ${formatWarnings(texts)}`;
}

/** Returns the warning about an object that was created from an empty body. */
export function warnOfEmptyBody(kind: string): ResponseHeaders {
  const text = `the request has no body, so the ${kind} has no attributes; send JSON such as {"data": {"title": "New"}}`;
  return { [warningHeader]: formatWarnings([text]) };
}

/** Returns the distinct texts about the first names in the query; `undefined` for nearly all queries. */
function findTexts(query: Query, describe: (name: string) => string | undefined): ReadonlySet<string> | undefined {
  let texts: Set<string> | undefined;
  let compared = 0;
  for (const [name] of query) {
    if (compared++ === maxCompared || texts?.size === maxWarnings) break;
    const text = describe(name);
    if (text !== undefined) (texts ??= new Set()).add(text);
  }
  return texts;
}

function headersOf(texts: ReadonlySet<string> | undefined): ResponseHeaders | undefined {
  return texts === undefined ? undefined : { [warningHeader]: formatWarnings(texts) };
}

function isReserved(name: string): boolean {
  return name.charCodeAt(0) === underscore;
}

const underscore = 95;
const maxNameChars = 80;

/** Percent-encodes a name from a client, except for a few characters, and cuts it at a maximum length. */
function printable(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll('%20', ' ').replaceAll('%3D', '=');
  return encoded.length > maxNameChars ? `${encoded.slice(0, maxNameChars)}...` : encoded;
}

/** Formats warnings with code 299, the name of the service, and a quoted string, as in RFC 7234. */
function formatWarnings(texts: Iterable<string>): string {
  return Array.from(texts, (text) => `299 coffer "${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(', ');
}

/** Returns the value of the `Alert` header, which warns of features that will be removed: JSON on one line in visible ASCII. */
export function formatAlert(code: 'soft-eol' | 'hard-eol', message: string, url: string): string {
  return JSON.stringify({ code, message, url }).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
