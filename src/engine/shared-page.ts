// Reads a page of a list for a caller with permissions on many single objects. The list is read in the order of the page,
// and the permissions of each object are checked. So the cost depends on the page, and not on the number of shared objects.
import type { Page } from '../contracts/storage.ts';
import { cutPage, PageFill } from '../core/objects/page-text.ts';
import type { ListKey, StoredEntry } from '../core/objects/stored.ts';
import { storedUri } from '../core/objects/uris.ts';
import type { Principal } from '../core/permissions/principals.ts';
import type { PageQuery } from '../core/query/ast.ts';
import { positionOf } from '../core/query/sort.ts';
import type { Reader } from './unit-of-work.ts';

/** Number of shared objects below which they are always looked up by their ids. */
export const minToWalk = 1000;

/**
 * Returns the number of shared objects from which a scan reads fewer entries than a lookup of their ids, if they are evenly
 * distributed over the list.
 */
export function manyShared(limit: number, total: number): number {
  return Math.max(minToWalk, Math.ceil(Math.sqrt((limit + 1) * total)));
}

/** The list of a scan, and the permissions that make an object visible. */
export interface SharedList {
  readonly list: ListKey;
  /** URI of the list; ids follow after a slash. */
  readonly uri: string;
  /** Permissions, each of which makes an object visible. */
  readonly permissions: readonly string[];
  readonly principals: ReadonlySet<Principal>;
}

/** Maximum number of entries of one read. */
const maxAtOnce = 2000;

/**
 * Returns one page of the shared objects. Returns `undefined` when the list was written meanwhile, or when the scan would need
 * more than the given number of entries, so that a lookup by ids is less work.
 *
 * @param most maximum number of entries to read
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
    const limit = Math.min(maxAtOnce, most - looked, expectedToLook(wanted - found.length, found.length, looked));
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
  // An unchanged clock proves that all reads belong to one state of the list. Sharing an object changes its timestamp, so no
  // object was shared after it was read.
  if ((await reader.storage.resourceTimestamp(list)) !== timestamp) return undefined;
  return { timestamp, horizon, ...cutPage(found, query) };
}

/** Estimates the number of entries that contain the missing ones, from those read so far, with a margin. */
function expectedToLook(missing: number, found: number, looked: number): number {
  if (looked === 0) return missing;
  return Math.ceil(((missing * (looked + 1)) / (found + 1)) * 1.2);
}

async function keepShown(
  { permission }: Reader,
  { uri, permissions, principals }: SharedList,
  entries: readonly StoredEntry[],
): Promise<readonly StoredEntry[]> {
  const uris = entries.map(({ id }) => storedUri(`${uri}/${id}`));
  const all = await permission.getObjectsPermissions(uris, permissions);
  return entries.filter((_, index) =>
    Object.values(all[index]!).some((allowed) => allowed.some((principal) => principals.has(principal))),
  );
}
