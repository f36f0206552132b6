// Previews and destinations: created on first use, and signed. The signature is written in the same transaction as the
// records, so that readers never see one without the other.
import { getKey, setKey, type MutableJsonObject } from '../../base/json.ts';
import { EVERYONE } from '../../core/permissions/principals.ts';
import type { Caller } from '../../engine/caller.ts';
import { roomFor } from '../../engine/stored-work.ts';
import type { Unsigned } from './pending-work.ts';
import { formatSignedText } from './records.ts';
import { removeRecords } from './copy-records.ts';
import { targetsOf, type CollectionId } from './routes.ts';
import { collectionPlace, findCollection, recordsOf, type Work } from './service.ts';

/** Attributes copied from the source to its preview and destination. */
const copiedFields = ['schema', 'attachment', 'displayFields', 'sort', 'flags'];

/** Attributes that only the plugin writes. */
export const signatureFields: readonly string[] = ['signature', 'signatures'];

/**
 * Creates the collection, readable by everyone, and its bucket, if they do not exist.
 *
 * @param creator gets `write` on the bucket if it is created here and if it has a user id
 * @returns whether the collection was created
 */
export async function ensureTarget({ service, actor }: Work, target: CollectionId, creator: Caller): Promise<boolean> {
  const { objects } = service.host;
  if ((await findCollection({ service, actor }, target)) !== undefined) return false;
  const create = { attributes: (old: object | undefined) => (old === undefined ? {} : undefined), isVerbatim: true };
  const bucket = objects.place('bucket', { bucket_id: target.bucket });
  if ((await objects.find(actor, bucket)) === undefined) {
    const { userId } = creator;
    const writer = userId === undefined ? {} : { permissions: () => ({ write: [userId] }) };
    await objects.write(actor, bucket, { ...create, ...writer });
  }
  await objects.write(actor, collectionPlace(objects, target), {
    ...create,
    permissions: (stored) => ({ ...stored, read: [EVERYONE] }),
  });
  return true;
}

/**
 * Signs the current records of all targets that changes have left unsigned.
 *
 * @throws BackendUnavailable when the signing backend fails; WorkAwaited, or ServiceError requestTooLarge
 */
export async function signPending({ service, actor, pending }: Omit<Work, 'route' | 'options'>): Promise<void> {
  for (const unsigned of pending.takeUnsigned()) await signTarget({ service, actor }, unsigned);
}

async function signTarget(
  { service, actor }: Pick<Work, 'service' | 'actor'>,
  { options, target, source }: Unsigned,
): Promise<void> {
  const { storage } = await actor.unit.writer();
  const list = recordsOf(target);
  await storage.lock(list);
  const timestamp = await storage.touch(list);
  const pieces = formatSignedText({ storage, requireRoom: roomFor(actor, 'show') }, list, timestamp);
  const { signer } = options;
  const signatures = await signer.sign(reserving(actor, pieces, signer.bytesPerChar));
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

/** Yields the pieces after memory for them was reserved. */
async function* reserving(
  { unit, request }: Work['actor'],
  pieces: AsyncIterable<string>,
  bytesPerChar: number,
): AsyncGenerator<string> {
  for await (const piece of pieces) {
    unit.events.reserve(request, piece.length * bytesPerChar);
    yield piece;
  }
}

/** Signs existing previews and destinations again. */
export async function resignTargets(work: Work): Promise<void> {
  for (const target of targetsOf(work.route)) {
    if ((await findCollection(work, target)) !== undefined) work.pending.sign({ options: work.options, target });
  }
}

/** Deletes preview and destination of a deleted source, or empties and signs them. */
export async function cleanUpTargets(work: Work): Promise<void> {
  const { service, actor, route, options, pending } = work;
  for (const target of targetsOf(route)) {
    if ((await findCollection(work, target)) === undefined) continue;
    const { objects } = service.host;
    if (options.deletesTargets) {
      await objects.remove(actor, collectionPlace(objects, target));
      pending.forget(target);
    } else {
      await removeRecords(work, target);
      pending.sign({ options, target });
    }
  }
}
