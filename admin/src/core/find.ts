// Finds objects by their ids: buckets everywhere, what is in the current bucket and collection, and full paths such as
// `kitchen/recipes/bread`.
import type { Api } from './api.ts';
import { displayText, memberText } from './json-text.ts';
import { loadPage } from './objects.ts';
import { below, kinds, listPathOf, type Kind, type Place } from './places.ts';
import type { Service } from './service.ts';

export interface Found {
  readonly place: Place;
}

export interface FindOptions {
  /** A part of an id, or ids separated by slashes. */
  readonly text: string;
  /** The current object. */
  readonly place: Place;
  readonly signal: AbortSignal;
}

/** Number of results of each kind. */
const hitLimit = 6;

/** Returns the objects whose ids contain the text, at most a few of each kind. Lists that the user may not read have none. */
export async function findObjects(
  api: Api,
  service: Service,
  { text, place, signal }: FindOptions,
): Promise<readonly Found[]> {
  const parts = text.split('/').filter((part) => part !== '');
  const path = parts[0] === kinds.bucket.plural ? parts.filter((_part, index) => index % 2 === 1) : parts;
  const search = async (parent: Place, kind: Kind, id: string): Promise<readonly Found[]> => {
    const query = new URLSearchParams({ _limit: String(hitLimit), _fields: 'id', _sort: 'id' });
    if (id !== '') query.set('like_id', id);
    try {
      const { rows } = await loadPage(api, listPathOf(parent, kind), query, signal);
      return rows.map((row) => ({ place: below(parent, kind, displayText(memberText(row, 'id') ?? '""')) }));
    } catch {
      // Nothing the user may list.
      return [];
    }
  };
  const [bucket = '', collection = '', record = ''] = path;
  if (path.length > 1 || text.includes('/')) {
    const inBucket = below([], kinds.bucket, bucket);
    if (path.length < 3)
      return inOrder([search(inBucket, kinds.collection, collection), search(inBucket, kinds.group, collection)]);
    return search(below(inBucket, kinds.collection, collection), kinds.record, record);
  }
  const here = place.slice(0, 1);
  const list = place[1]?.kind === kinds.collection ? place.slice(0, 2) : undefined;
  return inOrder([
    search([], kinds.bucket, bucket),
    ...(here.length === 0 ? [] : [search(here, kinds.collection, bucket), search(here, kinds.group, bucket)]),
    ...(list === undefined || bucket === '' ? [] : [search(list, kinds.record, bucket)]),
    ...(bucket === '' ? [] : [searchEverywhere(api, service, bucket, here, signal)]),
  ]);
}

/** Finds collections and groups of all buckets on which the user has permissions. */
async function searchEverywhere(
  api: Api,
  service: Service,
  id: string,
  here: Place,
  signal: AbortSignal,
): Promise<readonly Found[]> {
  if (!service.capabilities.has('permissions_endpoint') || service.userId === undefined) return [];
  const found = await Promise.all(
    [kinds.collection, kinds.group].map(async (kind) => {
      const query = new URLSearchParams({ resource_name: kind.name, like_id: id, _limit: String(hitLimit) });
      const { rows } = await loadPage(api, 'permissions', query, signal).catch(() => ({ rows: [] }));
      return rows.map((row) => {
        const bucket = displayText(memberText(row, 'bucket_id') ?? '""');
        return { place: below(below([], kinds.bucket, bucket), kind, displayText(memberText(row, 'id') ?? '""')) };
      });
    }),
  );
  return found.flat().filter(({ place }) => place[0]?.id !== here[0]?.id);
}

async function inOrder(searches: readonly Promise<readonly Found[]>[]): Promise<readonly Found[]> {
  return (await Promise.all(searches)).flat();
}
