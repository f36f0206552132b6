// Event subscribers of the plugin, inside the transaction of a change. Deleting objects deletes their files, and only
// uploads change the attribute `attachment`.
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { ServiceError } from '../../core/errors.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import { equalValues } from '../../core/query/compare.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
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
    // The service itself, such as the signer, can copy records with their attachments.
    if (after === undefined || change.isByService === true) await unlink(attachments, unit, change, 'replaced');
    else requireUpload(attachments, unit, change, after);
  }
}

function requireUpload({ uploaded }: AttachmentService, unit: UnitOfWork, change: Change, after: JsonValue): void {
  const own = uploaded.get(unit)?.get(change.uri);
  if (own === undefined || !equalValues(own, after)) throw new ServiceError('attachmentModified');
}

/**
 * Links the file of a record to a copy of the record, so that readers of the copy can read it. A record gets a file only by
 * an upload or as such a copy. An attachment that a client wrote into a record links no file when it is copied.
 */
async function linkCopy({ ids, copiedFrom, list }: Change, unit: UnitOfWork): Promise<void> {
  const original = copiedFrom === undefined ? undefined : parseRecordUri(copiedFrom);
  if (original === undefined) return;
  const recordIds = recordIdsOf(ids);
  const { storage } = await unit.writer();
  // The request has reserved memory for the copy that it has written.
  const attachment = attachmentOf(await storage.get(list, recordIds.record, undefined));
  if (attachment === undefined) return;
  const file = await findLink(storage, original);
  if (file === undefined || !matchesFile(attachment, file)) return;
  if ((await findLink(storage, recordIds))?.location === file.location) return;
  await writeLink(storage, recordIds, file, file.ownerUri);
}

/** Returns whether the attribute names the file, even if files had another base URL at the time of the upload. */
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

/** Returns the attribute `attachment`, or `undefined` if it is absent or empty. */
export function attachmentOf(entry: StoredEntry | undefined): JsonValue | undefined {
  if (entry === undefined || isTombstone(entry)) return undefined;
  const value = entry.attribute('attachment');
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0) ? undefined : value;
}
