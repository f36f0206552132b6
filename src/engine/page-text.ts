// The entries of a page as response text: as stored, with a selection of attributes, or as markers of what filters exclude.
import { formatInSteps, largeTextChars } from '../base/json-steps.ts';
import type { Steps } from '../base/steps.ts';
import {
  charsOf,
  entryInSteps,
  entryValue,
  formatEntries,
  formatEntry,
  formatGone,
  isTombstone,
  type StoredEntry,
} from '../core/objects/stored.ts';
import { matchesInSteps } from '../core/query/evaluate-steps.ts';
import { project, workOfProjection } from '../core/query/project.ts';
import type { ListQuery, Marking } from '../core/query/resolve.ts';
import { scoreInSteps, SearchBudget } from '../core/text/text-query.ts';
import type { Scope } from './scope.ts';
import { presentObject } from './visibility.ts';

/** How the entries of a page are shown. */
export type Presentation = Pick<ListQuery, 'projection' | 'goneUnless'>;

/** Body of a page without entries. */
export const emptyPageBody = '{"data":[]}';

/**
 * Returns the body of a response that ends with a list. A long one stays in pieces, because concatenating them would copy it.
 *
 * @param texts the entries with the commas between them
 */
export function listBody(head: string, texts: readonly string[]): string | readonly string[] {
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  return chars < largeTextChars ? `${head}${texts.join('')}]}` : [head, ...texts, ']}'];
}

/** Formats the entries, joined by commas. */
export function* formatPage(
  scope: Scope<unknown>,
  entries: readonly StoredEntry[],
  { projection, goneUnless }: Presentation,
): Steps<string> {
  const shown =
    scope.kind.declaration.present === undefined
      ? entries
      : entries.map((entry) => (isTombstone(entry) ? entry : presentObject(scope, entry)));
  if (projection === undefined && goneUnless === undefined) return formatEntries(shown);
  const texts: string[] = [];
  const projecting = projection === undefined ? 0 : workOfProjection(projection);
  let chars = 0;
  for (const entry of shown) {
    const value = isTombstone(entry) ? entryValue(entry) : yield* entryInSteps(entry);
    const isGone = goneUnless !== undefined && !isTombstone(entry) && !(yield* isShown(entry, goneUnless));
    if (isGone) texts.push(formatGone(entry));
    else texts.push(projection === undefined ? formatEntry(entry) : yield* formatInSteps(project(value, projection)));
    chars += charsOf(entry) + projecting;
    if (chars < largeTextChars) continue;
    chars = 0;
    yield;
  }
  return texts.join(',');
}

function* isShown(entry: StoredEntry, { filters, search }: Marking): Steps<boolean> {
  if (!(yield* matchesInSteps(entry, filters))) return false;
  return search === undefined || (yield* scoreInSteps(entry, search, new SearchBudget())) !== undefined;
}
