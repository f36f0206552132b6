// Access control of files: readers of the record of the upload, readers of a copy of that record, and any client with a
// valid signed URL.
import { ServiceError } from '../../core/errors.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { refusal } from '../../engine/access.ts';
import type { Context } from '../../engine/context.ts';
import type { ObjectPlace } from '../../engine/objects.ts';
import type { AttachmentService } from './service.ts';
import { attachmentOf, matchesFile } from './subscribers.ts';
import { parseRecordUri, findKeptLink, findLink, recordUri, type Link, type RecordIds } from './file-links.ts';
import { readReferences, type FileOfRecord } from './references.ts';
import { isSigned } from './signed-urls.ts';

/** Maximum number of copies to check. The signer makes at most two, for preview and destination. */
const maxCopies = 100;

/**
 * Returns the link of a file that the caller can read.
 *
 * @throws ServiceError missingAuthToken, forbidden; unknownPath
 */
export async function findReadableFile(
  attachments: AttachmentService,
  context: Context,
  owner: RecordIds,
  location: string,
): Promise<Link> {
  const { host, signer } = attachments;
  const { storage } = context.unit.reader;
  const file = { ownerUri: recordUri(owner), location };
  if (signer !== undefined && isSigned(context.query)) {
    const version = signer.verify(file, context.query);
    if (version === undefined) throw expired();
    const own = await findOwn(storage, owner, location);
    if (own?.lastModified === version) return own;
    const copy = await findCopy(attachments, context, file, async (_place, link) => link.lastModified === version);
    if (copy === undefined) throw new ServiceError('unknownPath');
    return copy;
  }
  const place = placeOf(attachments, owner);
  if (place === undefined) throw new ServiceError('unknownPath');
  // Permission is checked first, so that responses do not reveal which files exist.
  const isReader = await host.objects.isAllowed(context, place, 'read');
  if (isReader) {
    const own = await findOwn(storage, owner, location);
    if (own !== undefined) return own;
    const kept = await findKeptLink(storage, owner, location);
    if (kept?.kept === 'replaced' && kept.recordUri === file.ownerUri) {
      if (await host.objects.isAllowed(context, { kind: 'collection', ids: place.ids }, 'read')) return kept;
    }
  }
  const isReadable = (copy: ObjectPlace): Promise<boolean> => host.objects.isAllowed(context, copy, 'read');
  const copy = await findCopy(attachments, context, file, isReadable);
  if (copy !== undefined) return copy;
  throw isReader ? new ServiceError('unknownPath') : refusal(context.caller);
}

/** Returns the place of a record, or `undefined` for invalid ids. */
function placeOf({ host }: AttachmentService, { bucket, collection, record }: RecordIds): ObjectPlace | undefined {
  return host.objects.findPlace('record', { bucket_id: bucket, collection_id: collection, record_id: record });
}

async function findOwn(storage: StorageReader, owner: RecordIds, location: string): Promise<Link | undefined> {
  const link = await findLink(storage, owner);
  return link?.location === location ? link : undefined;
}

/** Returns the link of a current copy of the owner that the service made and that passes. */
async function findCopy(
  attachments: AttachmentService,
  context: Context,
  file: FileOfRecord,
  passes: (place: ObjectPlace, link: Link) => Promise<boolean>,
): Promise<Link | undefined> {
  const { storage } = context.unit.reader;
  for (const uri of await readReferences(storage, file, maxCopies)) {
    const recordIds = parseRecordUri(uri);
    const place = recordIds && placeOf(attachments, recordIds);
    if (recordIds === undefined || place === undefined) continue;
    const link = await findOwn(storage, recordIds, file.location);
    if (link?.ownerUri !== file.ownerUri || !(await passes(place, link))) continue;
    const attachment = attachmentOf(await attachments.host.objects.find(context, place));
    if (attachment !== undefined && matchesFile(attachment, link)) return link;
  }
  return undefined;
}

function expired(): ServiceError {
  return new ServiceError('forbidden', {
    message: 'The signed URL is invalid or has expired. Request a new one.',
  });
}
