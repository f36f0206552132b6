// Checks that keep signatures valid. They refuse floats in sources, client writes to previews and destinations, and
// deletions of objects that a source needs.
import { abbreviate } from '../../base/abbreviate.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import type { Actor } from '../../engine/objects.ts';
import { roomFor, type OfRequest } from '../../engine/stored-work.ts';
import { byId, walkIds } from '../../engine/walk.ts';
import { findFloat } from './canonical-json.ts';
import { placeUri, type CollectionId, type Place } from './routes.ts';
import {
  findCollection,
  forbidden,
  invalid,
  isSameAttribute,
  pluginCaller,
  type SignerService,
  type Work,
} from './service.ts';
import { signatureFields } from './targets.ts';

type RequestScope = Omit<Actor, 'caller'>;

/** @throws ServiceError invalidPostedData for a source record that contains a number with a fraction or an exponent */
export function refuseFloats({ options }: Work, { new: entry }: Change): void {
  if (options.allowsFloats || isTombstone(entry)) return;
  const path = findFloat(entry.attributes);
  if (path === undefined) return;
  throw invalid(
    `The number at ${abbreviate(path.join('.'))} in record ${entry.id} is not an integer. Use integers or strings, or enable signer.allow_floats.`,
  );
}

/** @throws ServiceError forbidden when the collection is the preview or destination of an existing source */
export async function refuseRecordWrites(service: SignerService, scope: RequestScope, id: CollectionId): Promise<void> {
  if (await isNeeded(service, scope, id)) {
    throw forbidden(
      'Records of a preview or destination are written by the signer. Change the source collection instead.',
    );
  }
}

/**
 * Refuses deletions of previews and destinations of existing sources, and changes of their signatures.
 *
 * @throws ServiceError forbidden, invalidPostedData
 */
export async function refuseTargetChange(
  service: SignerService,
  scope: RequestScope,
  id: CollectionId,
  { action, old, new: entry }: Change,
): Promise<void> {
  if (action === 'create' || !(await isNeeded(service, scope, id))) return;
  if (action === 'delete') {
    // The request may have recreated the collection, but its records are deleted.
    throw forbidden('The collection is in use as the preview or destination of another collection.');
  }
  const changed = signatureFields.find((field) => !isSameAttribute(old, entry, field));
  if (changed !== undefined) throw invalid(`${changed} cannot be changed.`);
}

async function isNeeded(service: SignerService, { unit, request }: RequestScope, id: CollectionId): Promise<boolean> {
  const route = service.routes.to(id);
  if (route === undefined) return false;
  return (
    (await findCollection({ service, actor: { unit, request, caller: pluginCaller } }, route.source)) !== undefined
  );
}

/** @throws ServiceError forbidden when the bucket held previews or destinations of existing sources */
export async function refuseBucketDeletion(service: SignerService, scope: RequestScope, bucket: string): Promise<void> {
  for (const { source, preview, destination } of service.routes.resources) {
    const isTarget = [preview, destination].some((place) => place?.bucket === bucket);
    if (isTarget && (await hasSource(service, scope, source))) {
      throw forbidden('The bucket is in use: it contains the preview or destination of a collection.');
    }
  }
}

async function hasSource(
  service: SignerService,
  { unit, request }: RequestScope,
  { bucket, collection }: Place,
): Promise<boolean> {
  if (collection !== undefined) {
    const actor = { unit, request, caller: pluginCaller };
    return (await findCollection({ service, actor }, { bucket, collection })) !== undefined;
  }
  const list = { kind: 'collection', parent: placeUri({ bucket, collection: undefined }) };
  return (await unit.reader.storage.countAll(list, { filters: [] })) > 0;
}

/** @throws ServiceError forbidden when one of the groups is the editors or reviewers group of an existing source */
export async function refuseGroupDeletion(
  service: SignerService,
  scope: RequestScope,
  bucket: string,
  uris: ReadonlySet<string>,
): Promise<void> {
  const parent = placeUri({ bucket, collection: undefined });
  for await (const { collection, groups } of readSources(service, scope, bucket)) {
    if (groups.some((id) => uris.has(uriBelow(parent, 'groups', id)))) {
      throw forbidden(`The group is in use by the collection ${collection}.`);
    }
  }
}

/** Yields the sources in a bucket with the ids of their groups. */
export async function* readSources(
  service: SignerService,
  scope: RequestScope,
  bucket: string,
): AsyncGenerator<{ readonly collection: string; readonly groups: readonly string[] }, void> {
  if (!service.routes.resources.some(({ source }) => source.bucket === bucket)) return;
  for await (const collection of readCollections(scope, bucket)) {
    const source = { bucket, collection };
    if (service.routes.from(source) === undefined) continue;
    const { editorsGroup, reviewersGroup } = service.options.of(source);
    yield { collection, groups: [editorsGroup, reviewersGroup] };
  }
}

/** Yields the ids of the collections in a bucket. */
export async function* readCollections(
  { unit, request }: Pick<RequestScope, 'unit'> & OfRequest,
  bucket: string,
): AsyncGenerator<string, void> {
  const list = { kind: 'collection', parent: uriBelow('', 'buckets', bucket) };
  yield* walkIds(unit.reader.storage, list, { filters: [] }, roomFor({ request }, 'show'), byId);
}
