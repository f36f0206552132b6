// What other changes mean for files: deletions take them along, and no client says itself what the attachment of a record
// is. Called inside the transaction of the change.
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { ServiceError } from '../../core/errors.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import { equalValues } from '../../core/query/compare.ts';
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
import type { Change } from '../../engine/kind.ts';
import type { Session } from '../../engine/session.ts';
import { addressOf, type Attachments } from './attachments.ts';
import { allLocations, collectionsWithFiles, retireCollection, retireRecord } from './links.ts';

export function subscribers(attachments: Attachments): readonly Subscriber[] {
  const name = 'attachments';
  return [
    {
      name,
      on: 'ResourceChanged',
      kinds: ['record'],
      actions: ['update'],
      handle: (event, { session }) => onUpdate(attachments, event, session),
    },
    {
      name,
      on: 'ResourceChanged',
      kinds: ['bucket', 'collection', 'record'],
      actions: ['delete'],
      handle: (event, { session }) => onDelete(attachments, event, session),
    },
    {
      name,
      on: 'BeforeServerFlushed',
      async handle(_event, session) {
        const { storage } = await session.writer();
        const names: string[] = [];
        for await (const location of allLocations(storage)) names.push(location);
        attachments.deletions.afterCommit(session, names);
      },
    },
  ];
}

async function onUpdate(attachments: Attachments, { changes }: ChangeEvent, session: Session): Promise<void> {
  for (const change of changes) {
    const before = attachmentOf(change.old);
    if (before === undefined) continue;
    const after = attachmentOf(change.new);
    if (after === undefined) await retire(attachments, session, change, 'replaced');
    else if (!equalValues(before, after)) requireUpload(attachments, session, change, after);
  }
}

/** The service itself may copy records with the attachments they have, as signers do. */
function requireUpload({ uploaded }: Attachments, session: Session, change: Change, after: JsonValue): void {
  if (change.isByService === true) return;
  const own = uploaded.get(session)?.get(change.uri);
  if (own === undefined || !equalValues(own, after)) throw new ServiceError('attachmentModified');
}

async function onDelete(attachments: Attachments, { kind, changes }: ChangeEvent, session: Session): Promise<void> {
  for (const change of changes) {
    if (kind === 'record') {
      if (attachmentOf(change.old) !== undefined) await retire(attachments, session, change, 'deleted');
    } else {
      await retireBelow(attachments, session, change);
    }
  }
}

async function retire(
  { rules, deletions }: Attachments,
  session: Session,
  { ids }: Change,
  reason: 'replaced' | 'deleted',
): Promise<void> {
  const address = addressOf(ids);
  const { storage } = await session.writer();
  const names = await retireRecord(storage, address, rules.of(address).keepsOldFiles ? reason : undefined);
  deletions.afterCommit(session, names);
}

async function retireBelow({ rules, deletions }: Attachments, session: Session, { kind, ids }: Change): Promise<void> {
  const { storage } = await session.writer();
  const { bucket, collection } = addressOf(ids);
  const collections = kind === 'bucket' ? await collectionsWithFiles(storage, bucket) : [collection];
  for (const each of collections) {
    const address = { bucket, collection: each };
    const names = await retireCollection(storage, address, rules.of(address).keepsOldFiles);
    deletions.afterCommit(session, names);
  }
}

/** `undefined` for none. */
function attachmentOf(entry: StoredEntry | undefined): JsonObject | JsonValue | undefined {
  if (entry === undefined || isTombstone(entry)) return undefined;
  const value = getKey(entry.attributes, 'attachment');
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0) ? undefined : value;
}
