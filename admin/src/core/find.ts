// Finds objects by their ids: buckets everywhere, what is in the current bucket and collection, and full paths such as
// `kitchen/recipes/bread`.
import type { Api } from './api.ts';
import { displayText, memberText } from './json-text.ts';
import { loadPage } from './objects.ts';
import { below, kinds, listPathOf, pathOf, type Kind, type Place } from './places.ts';
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
/** Maximum number of other collections of the bucket in which a record is looked up by its id. */
const siblingLimit = 20;

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
  /** Records of exactly this id in the other collections of the bucket: one cheap request for each of the first ones. */
  const searchSiblings = async (current: Place | undefined): Promise<readonly Found[]> => {
    const query = new URLSearchParams({ _limit: String(siblingLimit), _fields: 'id', _sort: 'id' });
    const parent = place.slice(0, 1);
    const page = await loadPage(api, listPathOf(parent, kinds.collection), query, signal).catch(() => undefined);
    const places = (page?.rows ?? [])
      .map((row) => below(parent, kinds.collection, displayText(memberText(row, 'id') ?? '""')))
      .filter((each) => each[1]?.id !== current?.[1]?.id);
    return (await Promise.all(places.map((each) => findRecord(api, below(each, kinds.record, bucket), signal)))).flat();
  };
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
    ...(here.length === 0 || bucket === '' ? [] : [searchSiblings(list)]),
    ...(bucket === '' ? [] : [searchEverywhere(api, service, bucket, here, signal)]),
  ]);
}

async function findRecord(api: Api, place: Place, signal: AbortSignal): Promise<readonly Found[]> {
  const allowed = [400, 401, 403, 404];
  const answer = await api.request('HEAD', pathOf(place), { allowed, signal }).catch(() => undefined);
  return answer?.status === 200 ? [{ place }] : [];
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
