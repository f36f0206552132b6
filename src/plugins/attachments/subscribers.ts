// What other changes mean for files: deletions take them along, and no client says itself what the attachment of a
// record is. Called inside the transaction of the change.
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { ServiceError } from '../../core/errors.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import { equalValues } from '../../core/query/compare.ts';
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
import type { Change } from '../../engine/kind.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { recordIdsOf, type AttachmentService } from './service.ts';
import {
  parseRecordUri,
  allLocations,
  collectionsWithFiles,
  findLink,
  unlinkCollection,
  unlinkRecord,
  writeLink,
  type Link,
} from './file-links.ts';

export function subscribers(attachments: AttachmentService): readonly Subscriber[] {
  const name = 'attachments';
  return [
    {
      name,
      on: 'ResourceChanged',
      kinds: ['record'],
      actions: ['update'],
      handle: (event, { unit }) => onUpdate(attachments, event, unit),
    },
    {
      name,
      on: 'ResourceChanged',
      kinds: ['bucket', 'collection', 'record'],
      actions: ['delete'],
      handle: (event, { unit }) => onDelete(attachments, event, unit),
    },
    {
      name,
      on: 'ObjectCopied',
      kinds: ['record'],
      handle: (change, { unit }) => linkCopy(change, unit),
    },
    {
      name,
      on: 'BeforeServerFlushed',
      async handle(_event, unit) {
        const { storage } = await unit.writer();
        const names = new Set<string>();
        for await (const location of allLocations(storage)) names.add(location);
        attachments.deletions.afterCommit(unit, [...names]);
      },
    },
  ];
}

async function onUpdate(attachments: AttachmentService, { changes }: ChangeEvent, unit: UnitOfWork): Promise<void> {
  for (const change of changes) {
    const before = attachmentOf(change.old);
    if (before === undefined) continue;
    const after = attachmentOf(change.new);
    if (after !== undefined && equalValues(before, after)) continue;
    // The service itself may copy records with the attachments they have, as signers do.
    if (after === undefined || change.isByService === true) await unlink(attachments, unit, change, 'replaced');
    else requireUpload(attachments, unit, change, after);
  }
}

function requireUpload({ uploaded }: AttachmentService, unit: UnitOfWork, change: Change, after: JsonValue): void {
  const own = uploaded.get(unit)?.get(change.uri);
  if (own === undefined || !equalValues(own, after)) throw new ServiceError('attachmentModified');
}

/**
 * Gives a copy of a record the file that the record has, so that readers of the copy may read it. A record has a file
 * only by an upload, or as such a copy: an attachment that a client wrote into a record stays a text when it is copied.
 */
async function linkCopy({ ids, copiedFrom, list }: Change, unit: UnitOfWork): Promise<void> {
  const original = copiedFrom === undefined ? undefined : parseRecordUri(copiedFrom);
  if (original === undefined) return;
  const recordIds = recordIdsOf(ids);
  const { storage } = await unit.writer();
  const attachment = attachmentOf(await storage.get(list, recordIds.record));
  if (attachment === undefined) return;
  const file = await findLink(storage, original);
  if (file === undefined || !matchesFile(attachment, file)) return;
  if ((await findLink(storage, recordIds))?.location === file.location) return;
  await writeLink(storage, recordIds, file, file.ownerUri);
}

/** Whether the attachment of a record is the file, wherever files were served when it was uploaded. */
export function matchesFile(attachment: JsonValue, { location }: Link): boolean {
  if (!isJsonObject(attachment)) return false;
  const named = getKey(attachment, 'location');
  return typeof named === 'string' && (named === location || named.endsWith(`/${location}`));
}

async function onDelete(
  attachments: AttachmentService,
  { kind, changes }: ChangeEvent,
  unit: UnitOfWork,
): Promise<void> {
  for (const change of changes) {
    if (kind === 'record') {
      if (attachmentOf(change.old) !== undefined) await unlink(attachments, unit, change, 'deleted');
    } else {
      await unlinkChildren(attachments, unit, change);
    }
  }
}

async function unlink(
  { rules, deletions }: AttachmentService,
  unit: UnitOfWork,
  { ids }: Change,
  reason: 'replaced' | 'deleted',
): Promise<void> {
  const recordIds = recordIdsOf(ids);
  const { storage } = await unit.writer();
  const names = await unlinkRecord(storage, recordIds, rules.of(recordIds).keepsOldFiles ? reason : undefined);
  deletions.afterCommit(unit, names);
}

async function unlinkChildren(
  { rules, deletions }: AttachmentService,
  unit: UnitOfWork,
  { kind, ids }: Change,
): Promise<void> {
  const { storage } = await unit.writer();
  const { bucket, collection } = recordIdsOf(ids);
  const collections = kind === 'bucket' ? await collectionsWithFiles(storage, bucket) : [collection];
  for (const each of collections) {
    const recordIds = { bucket, collection: each };
    const names = await unlinkCollection(storage, recordIds, rules.of(recordIds).keepsOldFiles);
    deletions.afterCommit(unit, names);
  }
}

/** `undefined` for none. */
export function attachmentOf(entry: StoredEntry | undefined): JsonValue | undefined {
  if (entry === undefined || isTombstone(entry)) return undefined;
  const value = getKey(entry.attributes, 'attachment');
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0) ? undefined : value;
}
