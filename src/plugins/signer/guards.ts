// What is refused so that signatures stay true: floats in sources, changes of previews and destinations by hand, and
// deletions of what a source still needs.
import { getKey, formatJson, type JsonObject } from '../../base/json.ts';
import { isTombstone, type StoredEntry } from '../../core/objects/stored.ts';
import type { Change } from '../../engine/events/event.ts';
import type { Actor } from '../../engine/objects.ts';
import { byId, walk } from '../../engine/walk.ts';
import { holdsFloat } from './canonical-json.ts';
import { groupUris, isInUse } from './groups.ts';
import { forbidden, invalid } from './refusals.ts';
import { placeUri, type CollectionId, type Place } from './routes.ts';
import { collectionPlace, pluginCaller, type SignerService, type Work } from './service.ts';
import { signatureFields } from './targets.ts';

type Acting = Omit<Actor, 'caller'>;

/** @throws ServiceError invalidPostedData for a record of a source that holds a number with a fraction or an exponent */
export function refuseFloats({ options }: Work, { new: entry }: Change): void {
  if (options.allowsFloats || isTombstone(entry) || !holdsFloat(entry.attributes)) return;
  throw invalid(`The record ${entry.id} holds a number that is no integer, and these are not signed here.`);
}

/** @throws ServiceError forbidden when the collection is preview or destination of a source that exists */
export async function refuseRecords(service: SignerService, acting: Acting, id: CollectionId): Promise<void> {
  if (await isNeeded(service, acting, id)) {
    throw forbidden('The records of this collection are written when they are signed, and not by hand.');
  }
}

/** @throws ServiceError forbidden, invalidPostedData for what must not happen to previews and destinations in use */
export async function refuseOnTarget(
  service: SignerService,
  acting: Acting,
  id: CollectionId,
  { action, old, new: entry }: Change,
): Promise<void> {
  if (action === 'create' || !(await isNeeded(service, acting, id))) return;
  if (action === 'delete') {
    // It may have been created again in the same request, but its records are gone.
    throw forbidden('The collection is in use: it is the preview or destination of another one.');
  }
  const changed = signatureFields.find((field) => textOf(old, field) !== textOf(entry, field));
  if (changed !== undefined) throw invalid(`${changed} cannot be changed.`);
}

function textOf(entry: StoredEntry | undefined, field: string): string | undefined {
  const attributes: JsonObject = entry === undefined || isTombstone(entry) ? {} : entry.attributes;
  const value = getKey(attributes, field);
  return value === undefined ? undefined : formatJson(value);
}

async function isNeeded(service: SignerService, { unit, request }: Acting, id: CollectionId): Promise<boolean> {
  const route = service.routes.to(id);
  if (route === undefined) return false;
  return isInUse({ service, actor: { unit, request, caller: pluginCaller }, route });
}

/** @throws ServiceError forbidden when the bucket held previews or destinations of sources that exist */
export async function refuseBucket(service: SignerService, acting: Acting, bucket: string): Promise<void> {
  for (const { source, preview, destination } of service.routes.resources) {
    const isMeant = [preview, destination].some((place) => place?.bucket === bucket);
    if (isMeant && (await holdsSource(service, acting, source))) {
      throw forbidden('The bucket is in use: it holds the preview or destination of a collection.');
    }
  }
}

async function holdsSource({ host }: SignerService, { unit }: Acting, { bucket, collection }: Place): Promise<boolean> {
  const actor = { unit, caller: pluginCaller };
  if (collection !== undefined) {
    return (await host.objects.find(actor, collectionPlace(host.objects, { bucket, collection }))) !== undefined;
  }
  const list = { kind: 'collection', parent: placeUri({ bucket, collection: undefined }) };
  return (await unit.reader.storage.countAll(list, { filters: [] })) > 0;
}

/** @throws ServiceError forbidden when one of the groups is that of editors or reviewers of a source that exists */
export async function refuseGroups(
  service: SignerService,
  acting: Acting,
  bucket: string,
  uris: ReadonlySet<string>,
): Promise<void> {
  if (!service.routes.resources.some(({ source }) => source.bucket === bucket)) return;
  for await (const collection of readCollections(acting, bucket)) {
    const source = { bucket, collection };
    if (service.routes.from(source) === undefined) continue;
    const { editors, reviewers } = groupUris(source, service.options.of(source));
    if (uris.has(editors) || uris.has(reviewers)) {
      throw forbidden(`The group is in use by the collection ${collection}.`);
    }
  }
}

/** Yields the ids of the collections in a bucket. */
export async function* readCollections({ unit }: Pick<Acting, 'unit'>, bucket: string): AsyncGenerator<string, void> {
  const list = { kind: 'collection', parent: `/buckets/${bucket}` };
  for await (const entries of walk(unit.reader.storage, list, { filters: [] }, byId)) {
    for (const { id } of entries) yield id;
  }
}
