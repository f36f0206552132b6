// What other changes mean for files: deletions take them along, and no client says itself what the attachment of a record
// is. Called inside the transaction of the change.
import { getKey, isJsonObject, type JsonValue } from '../../base/json.ts';
import { ServiceError } from '../../core/errors.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import { equalValues } from '../../core/query/compare.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { addressOf, type Attachments } from './attachments.ts';
import {
  addressOfUri,
  allLocations,
  collectionsWithFiles,
  findLink,
  retireCollection,
  retireRecord,
  writeLink,
  type Link,
} from './links.ts';

export function subscribers(attachments: Attachments): readonly Subscriber[] {
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

async function onUpdate(attachments: Attachments, { changes }: ChangeEvent, unit: UnitOfWork): Promise<void> {
  for (const change of changes) {
    const before = attachmentOf(change.old);
    if (before === undefined) continue;
    const after = attachmentOf(change.new);
    if (after !== undefined && equalValues(before, after)) continue;
    // The service itself may copy records with the attachments they have, as signers do.
    if (after === undefined || change.isByService === true) await retire(attachments, unit, change, 'replaced');
    else requireUpload(attachments, unit, change, after);
  }
}

function requireUpload({ uploaded }: Attachments, unit: UnitOfWork, change: Change, after: JsonValue): void {
  const own = uploaded.get(unit)?.get(change.uri);
  if (own === undefined || !equalValues(own, after)) throw new ServiceError('attachmentModified');
}

/**
 * Gives a copy of a record the file that the record has, so that readers of the copy may read it. A record has a file only
 * by an upload, or as such a copy: an attachment that a client wrote into a record stays a text when it is copied.
 */
async function linkCopy({ ids, copiedFrom, list }: Change, unit: UnitOfWork): Promise<void> {
  const original = copiedFrom === undefined ? undefined : addressOfUri(copiedFrom);
  if (original === undefined) return;
  const address = addressOf(ids);
  const { storage } = await unit.writer();
  const attachment = attachmentOf(await storage.get(list, address.record));
  if (attachment === undefined) return;
  const file = await findLink(storage, original);
  if (file === undefined || !namesFile(attachment, file)) return;
  if ((await findLink(storage, address))?.location === file.location) return;
  await writeLink(storage, address, file, file.ownerUri);
}

/** Whether the attachment of a record is the file, wherever files were served when it was uploaded. */
export function namesFile(attachment: JsonValue, { location }: Link): boolean {
  if (!isJsonObject(attachment)) return false;
  const named = getKey(attachment, 'location');
  return typeof named === 'string' && (named === location || named.endsWith(`/${location}`));
}

async function onDelete(attachments: Attachments, { kind, changes }: ChangeEvent, unit: UnitOfWork): Promise<void> {
  for (const change of changes) {
    if (kind === 'record') {
      if (attachmentOf(change.old) !== undefined) await retire(attachments, unit, change, 'deleted');
    } else {
      await retireBelow(attachments, unit, change);
    }
  }
}

async function retire(
  { rules, deletions }: Attachments,
  unit: UnitOfWork,
  { ids }: Change,
  reason: 'replaced' | 'deleted',
): Promise<void> {
  const address = addressOf(ids);
  const { storage } = await unit.writer();
  const names = await retireRecord(storage, address, rules.of(address).keepsOldFiles ? reason : undefined);
  deletions.afterCommit(unit, names);
}

async function retireBelow({ rules, deletions }: Attachments, unit: UnitOfWork, { kind, ids }: Change): Promise<void> {
  const { storage } = await unit.writer();
  const { bucket, collection } = addressOf(ids);
  const collections = kind === 'bucket' ? await collectionsWithFiles(storage, bucket) : [collection];
  for (const each of collections) {
    const address = { bucket, collection: each };
    const names = await retireCollection(storage, address, rules.of(address).keepsOldFiles);
    deletions.afterCommit(unit, names);
  }
}

/** `undefined` for none. */
export function attachmentOf(entry: StoredEntry | undefined): JsonValue | undefined {
  if (entry === undefined || isTombstone(entry)) return undefined;
  const value = getKey(entry.attributes, 'attachment');
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0) ? undefined : value;
}
