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
  const texts: string[] = [];
  for (const name of comparedNames(query)) {
    const meant = name.charCodeAt(0) === underscore ? suggestReserved(name) : undefined;
    if (meant !== undefined) texts.push(describeIgnored(name, meant));
    if (texts.length === maxWarnings) break;
  }
  return texts.length === 0 ? undefined : { [warningHeader]: formatWarnings(texts) };
}

/** Returns the warnings about misspelt `_fields` in the query of a single object, which ignores everything else anyway. */
export function warnOfIgnoredFields(query: Query): ResponseHeaders | undefined {
  const texts: string[] = [];
  for (const name of comparedNames(query)) {
    const meant = name.charCodeAt(0) === underscore ? suggestReserved(name) : suggestFilter(name);
    if (meant === '_fields') texts.push(describeIgnored(name, meant));
    if (texts.length === maxWarnings) break;
  }
  return texts.length === 0 ? undefined : { [warningHeader]: formatWarnings(texts) };
}

function describeIgnored(name: string, meant: string): string {
  return `the parameter ${printable(name)} is ignored; did you mean ${meant}?`;
}

/** Adds warnings about filters that look like operators or parameters of other services, for a query that found nothing. */
export function warnOfFilters(headers: ResponseHeaders, query: Query): void {
  const texts: string[] = [];
  for (const name of comparedNames(query)) {
    if (texts.length === maxWarnings) break;
    if (name.charCodeAt(0) === underscore) continue;
    const meant = suggestFilter(name);
    if (meant === undefined) continue;
    texts.push(`${printable(name)} filters by an attribute of that name; did you mean ${printable(meant)}?`);
  }
  if (texts.length === 0) return;
  const others = headers[warningHeader];
  headers[warningHeader] = others === undefined ? formatWarnings(texts) : `${String(others)}, ${formatWarnings(texts)}`;
}

/** Returns the warning about an object that was created from an empty body. */
export function warnOfEmptyBody(kind: string): ResponseHeaders {
  const text = `the request has no body, so the ${kind} has no attributes; send JSON such as {"data": {"title": "New"}}`;
  return { [warningHeader]: formatWarnings([text]) };
}

/** Returns the distinct names of parameters, up to a limit. */
function comparedNames(query: Query): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [name] of query) {
    names.add(name);
    if (names.size === maxCompared) break;
  }
  return names;
}

const underscore = 95;
const maxNameChars = 80;

/** Names come from clients: outside of a few characters they are shown percent-encoded. */
function printable(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll('%20', ' ').replaceAll('%3D', '=');
  return encoded.length > maxNameChars ? `${encoded.slice(0, maxNameChars)}...` : encoded;
}

/** Warn-code 299, the name of the service, and a quoted string, as RFC 7234 has it. */
function formatWarnings(texts: readonly string[]): string {
  return texts.map((text) => `299 coffer "${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(', ');
}
