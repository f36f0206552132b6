// A page of a list for somebody who may see many of its objects one by one: the list is walked in its own order, and
// each object asked for its entries, so that a page costs a page, however many objects are shared.
import type { Page } from '../contracts/storage.ts';
import { fitPage, PageFill } from '../core/objects/page-text.ts';
import type { ListKey, StoredEntry } from '../core/objects/stored.ts';
import type { PageQuery } from '../core/query/ast.ts';
import { positionOf } from '../core/query/sort.ts';
import type { Reader } from './unit-of-work.ts';

/** Fewer shared objects than that are always looked up by their ids. */
export const fewestToWalk = 1000;

/**
 * From how many shared objects on a walk is worth its while. With so many of them spread evenly it looks at as many entries
 * as a look-up of so many ids would: at fewer with more, at more with fewer.
 */
export function manyShared(limit: number, total: number): number {
  return Math.max(fewestToWalk, Math.ceil(Math.sqrt((limit + 1) * total)));
}

/** What a walk goes over, and for whom. */
export interface SharedList {
  readonly list: ListKey;
  /** Of the list: ids follow after a slash. */
  readonly uri: string;
  /** Any of them on an object shows it. */
  readonly permissions: readonly string[];
  readonly principals: ReadonlySet<string>;
}

/** Entries that are read at once at most. */
const mostAtOnce = 2000;

/**
 * One page of what is shared, as if it had been selected by ids; `undefined` when the list was written to meanwhile, or what
 * is shared lies so far from where the page begins that a look-up by ids is less work.
 *
 * @param most entries to look at
 */
export async function readSharedPage(
  reader: Reader,
  shared: SharedList,
  query: PageQuery,
  most: number,
): Promise<Page | undefined> {
  const { list } = shared;
  const timestamp = await reader.storage.resourceTimestamp(list);
  if (timestamp === undefined) return undefined;
  const wanted = query.limit + 1;
  const found: StoredEntry[] = [];
  const fill = new PageFill(query.maxBytes);
  let { after } = query;
  let [looked, horizon] = [0, 0];
  for (let isOver = false; !isOver && found.length < wanted && !fill.isFull;) {
    if (looked >= most) return undefined;
    const limit = Math.min(mostAtOnce, most - looked, expectedToLook(wanted - found.length, found.length, looked));
    const page = await reader.storage.listAll(list, { ...query, after, limit });
    for (const entry of await keepShown(reader, shared, page.entries)) {
      found.push(entry);
      fill.add(entry);
    }
    looked += page.entries.length;
    horizon = Math.max(horizon, page.horizon);
    const last = page.entries.at(-1);
    if (last !== undefined) after = positionOf(last, query.sort);
    isOver = last === undefined || !page.more;
  }
  // All parts are of one moment then, and nothing was changed and shared only after it had been read: who shares an
  // object changes its timestamp.
  if ((await reader.storage.resourceTimestamp(list)) !== timestamp) return undefined;
  const page = { timestamp, horizon, entries: found.slice(0, query.limit), more: found.length > query.limit };
  return fitPage(page, query.maxBytes);
}

/** How many entries hold what is missing, going by those seen so far, and a few more. */
function expectedToLook(missing: number, found: number, looked: number): number {
  if (looked === 0) return missing;
  return Math.ceil(((missing * (looked + 1)) / (found + 1)) * 1.2);
}

async function keepShown(
  { permission }: Reader,
  { uri, permissions, principals }: SharedList,
  entries: readonly StoredEntry[],
): Promise<readonly StoredEntry[]> {
  const uris = entries.map(({ id }) => `${uri}/${id}`);
  const all = await permission.getObjectsPermissions(uris, permissions);
  return entries.filter((_, index) =>
    Object.values(all[index]!).some((allowed) => allowed.some((principal) => principals.has(principal))),
  );
}
