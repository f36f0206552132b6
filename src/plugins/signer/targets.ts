// Previews and destinations: created when they are first needed, and signed. A signature is written in the transaction that
// writes the records, so nobody ever sees the one without the other.
import { getKey, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import { EVERYONE } from '../../core/permissions/principals.ts';
import { formatSignedText } from './records.ts';
import { removeRecords } from './copy-records.ts';
import { targetsOf, type CollectionId } from './routes.ts';
import { collectionPlace, recordsOf, type Work } from './service.ts';

/** Attributes of the source that its preview and destination have too. */
const copiedFields = ['schema', 'attachment', 'displayFields', 'sort', 'flags'];

/** Attributes that are the plugin's alone. */
export const signatureFields: readonly string[] = ['signature', 'signatures'];

/** Creates the collection, readable by everybody, and its bucket, as far as they are not there. */
export async function ensureTarget({ service, actor }: Work, target: CollectionId): Promise<void> {
  const { objects } = service.host;
  const place = collectionPlace(objects, target);
  if ((await objects.find(actor, place)) !== undefined) return;
  const create = { attributes: (old: object | undefined) => (old === undefined ? {} : undefined), isVerbatim: true };
  const bucket = objects.place('bucket', { bucket_id: target.bucket });
  if ((await objects.find(actor, bucket)) === undefined) await objects.write(actor, bucket, create);
  await objects.write(actor, place, { ...create, permissions: (stored) => ({ ...stored, read: [EVERYONE] }) });
}

/**
 * Signs the records as they are now.
 *
 * @param source attributes of the source, to bring the copied ones up to date; absent: they are left as they are
 * @throws BackendUnavailable when nothing can be signed now
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
  const signatures = await options.signer.sign(await formatSignedText(storage, list, timestamp));
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

/** Signs preview and destination again, as far as they exist. */
export async function resignTargets(work: Work): Promise<void> {
  for (const target of targetsOf(work.route)) {
    const { objects } = work.service.host;
    const found = await objects.find(work.actor, collectionPlace(objects, target));
    if (found !== undefined) await signTarget(work, target);
  }
}

/** What becomes of preview and destination when their source is gone. */
export async function cleanUpTargets(work: Work): Promise<void> {
  const { service, actor, route, options } = work;
  for (const target of targetsOf(route)) {
    const place = collectionPlace(service.host.objects, target);
    if ((await service.host.objects.find(actor, place)) === undefined) continue;
    if (options.deletesTargets) await service.host.objects.remove(actor, place);
    else {
      await removeRecords(work, target);
      await signTarget(work, target);
    }
  }
}
