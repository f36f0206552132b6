// The `Warning` header: what a request asked for is valid, but probably not what its author meant.
import { suggestFilter, suggestReserved } from '../core/query/suggestions.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders } from './exchange.ts';

/** As a header is called in responses; scripts of other origins may read it. */
export const warningHeader = 'Warning';

/** Warnings of one response. */
const maxWarnings = 3;

/** Parameters of one request that are compared with known names: each comparison takes time, and a query may have thousands. */
const maxCompared = 50;

type Query = Context['query'];

/** Returns the warnings about parameters of a list that are ignored; `undefined` for nearly all queries. */
export function warnOfIgnored(query: Query): ResponseHeaders | undefined {
  return headersOf(
    findTexts(query, (name) => (isReserved(name) ? describeIgnored(name, suggestReserved(name)) : undefined)),
  );
}

/** Returns the warnings about misspelt `_fields` in the query of a single object, which ignores everything else anyway. */
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

/** Adds warnings about filters that look like operators or parameters of other services, for a query that found nothing. */
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

/** Returns the distinct texts about the first names of the query; `undefined` when there are none, as for nearly all queries. */
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

/** Names come from clients: outside of a few characters they are shown percent-encoded. */
function printable(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll('%20', ' ').replaceAll('%3D', '=');
  return encoded.length > maxNameChars ? `${encoded.slice(0, maxNameChars)}...` : encoded;
}

/** Warn-code 299, the name of the service, and a quoted string, as RFC 7234 has it. */
function formatWarnings(texts: Iterable<string>): string {
  return Array.from(texts, (text) => `299 coffer "${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(', ');
}
