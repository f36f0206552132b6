// Previews and destinations: created on first use, and signed. The signature is written in the same transaction as the
// records, so that readers never see one without the other.
import { getKey, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import { EVERYONE } from '../../core/permissions/principals.ts';
import { roomFor } from '../../engine/stored-work.ts';
import { formatSignedText } from './records.ts';
import { removeRecords } from './copy-records.ts';
import { targetsOf, type CollectionId } from './routes.ts';
import { collectionPlace, findCollection, recordsOf, type Work } from './service.ts';

/** Attributes copied from the source to its preview and destination. */
const copiedFields = ['schema', 'attachment', 'displayFields', 'sort', 'flags'];

/** Attributes that only the plugin writes. */
export const signatureFields: readonly string[] = ['signature', 'signatures'];

/** Creates the collection, readable by everyone, and its bucket, if they do not exist. */
export async function ensureTarget({ service, actor }: Work, target: CollectionId): Promise<void> {
  const { objects } = service.host;
  if ((await findCollection({ service, actor }, target)) !== undefined) return;
  const create = { attributes: (old: object | undefined) => (old === undefined ? {} : undefined), isVerbatim: true };
  const bucket = objects.place('bucket', { bucket_id: target.bucket });
  if ((await objects.find(actor, bucket)) === undefined) await objects.write(actor, bucket, create);
  await objects.write(actor, collectionPlace(objects, target), {
    ...create,
    permissions: (stored) => ({ ...stored, read: [EVERYONE] }),
  });
}

/**
 * Signs the current records.
 *
 * @param source attributes of the source to copy; absent: the copied attributes stay unchanged
 * @throws BackendUnavailable when the signing backend fails
 */
export async function signTarget(
  { service, actor, options }: Work,
  target: CollectionId,
  source?: JsonObject,
): Promise<void> {
  const { storage } = await actor.unit.writer();
  const list = recordsOf(target);
  await storage.lock(list);
  const timestamp = await storage.touch(list);
  const text = await formatSignedText({ storage, requireRoom: roomFor(actor, 'show') }, list, timestamp);
  const signatures = await options.signer.sign(text);
  const { objects } = service.host;
  await objects.write(actor, collectionPlace(objects, target), {
    attributes: (old) => {
      const attributes: MutableJsonObject = { ...old?.attributes };
      for (const field of copiedFields) {
        if (source === undefined) break;
        const value = getKey(source, field);
        if (value === undefined) delete attributes[field];
        else setKey(attributes, field, value);
      }
      return { ...attributes, signature: signatures[0], signatures };
    },
    isVerbatim: true,
  });
}

/** Signs existing previews and destinations again. */
export async function resignTargets(work: Work): Promise<void> {
  for (const target of targetsOf(work.route)) {
    if ((await findCollection(work, target)) !== undefined) await signTarget(work, target);
  }
}

/** Deletes preview and destination of a deleted source, or empties and signs them. */
export async function cleanUpTargets(work: Work): Promise<void> {
  const { service, actor, route, options } = work;
  for (const target of targetsOf(route)) {
    if ((await findCollection(work, target)) === undefined) continue;
    const { objects } = service.host;
    if (options.deletesTargets) await objects.remove(actor, collectionPlace(objects, target));
    else {
      await removeRecords(work, target);
      await signTarget(work, target);
    }
  }
}
