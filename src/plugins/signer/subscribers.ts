// Event subscribers of the plugin: they start the workflow for changes to sources and refuse forbidden changes.
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { EventScope } from '../../engine/events/subscriber.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
import type { Change } from '../../engine/events/event.ts';
import {
  refuseBucketDeletion,
  refuseFloats,
  refuseGroupDeletion,
  refuseTargetChange,
  refuseRecordWrites,
  readCollections,
} from './guards.ts';
import { parseCollectionUri, targetsOf, type CollectionId } from './routes.ts';
import { findCollection, pluginCaller, workOn, type SignerService } from './service.ts';
import { removeGroups } from './group-removal.ts';
import { onDeletion, onEdit, onRecreation, onSourceChange } from './review-workflow.ts';
import { PendingWork } from './pending-work.ts';
import { signPending } from './targets.ts';

/** Returns the subscribers of the plugin. All of them run inside the transaction. */
export function signerSubscribers(service: SignerService): readonly Subscriber[] {
  const on = 'ResourceChanged';
  return [
    { name: 'signer-records', on, kinds: ['record'], handle: (event, scope) => onRecords(service, event, scope) },
    {
      name: 'signer-collections',
      on,
      kinds: ['collection'],
      handle: (event, scope) => onCollections(service, event, scope),
    },
    {
      name: 'signer-buckets',
      on,
      kinds: ['bucket'],
      actions: ['delete'],
      handle: (event, scope) => onBuckets(service, event, scope),
    },
    {
      name: 'signer-groups',
      on,
      kinds: ['group'],
      actions: ['delete'],
      handle: (event, scope) => onGroups(service, event, scope),
    },
  ];
}

/** Returns the changes that the plugin did not make itself. */
function changesByOthers({ changes }: ChangeEvent): readonly Change[] {
  return changes.filter(({ caller }) => caller !== pluginCaller);
}

/** Handles changes of records. All records of an event belong to one collection. */
async function onRecords(service: SignerService, event: ChangeEvent, { unit }: EventScope): Promise<void> {
  const changes = changesByOthers(event);
  const last = changes.at(-1);
  const id = parseCollectionUri(event.list.parent);
  if (last === undefined || id === undefined) return;
  const scope = { unit, request: event.request };
  await refuseRecordWrites(service, scope, id);
  const route = service.routes.from(id);
  if (route === undefined) return;
  const work = workOn(service, scope, route, new PendingWork());
  for (const change of changes) refuseFloats(work, change);
  await onEdit(work, last);
}

async function onCollections(service: SignerService, event: ChangeEvent, eventScope: EventScope): Promise<void> {
  const scope = { unit: eventScope.unit, request: event.request };
  const actor = { ...scope, caller: pluginCaller };
  const pending = new PendingWork();
  const deleted: CollectionId[] = [];
  for (const change of changesByOthers(event)) {
    const id: CollectionId = { bucket: change.ids['bucket_id']!, collection: change.ids['collection_id']! };
    await refuseTargetChange(service, scope, id, change);
    const route = service.routes.from(id);
    if (route === undefined) continue;
    await onSourceChange(workOn(service, scope, route, pending), { event, change, scope: eventScope });
    if (change.action === 'delete') deleted.push(id);
  }
  await removeGroups(service, actor, deleted);
  for (const id of deleted) await onRecreation(workOn(service, scope, service.routes.from(id)!, pending));
  await signPending({ service, actor, pending });
}

/** Handles deletions of buckets. Objects deleted with their bucket have no events of their own. */
async function onBuckets(service: SignerService, event: ChangeEvent, { unit }: EventScope): Promise<void> {
  const scope = { unit, request: event.request };
  const pending = new PendingWork();
  for (const { ids } of changesByOthers(event)) {
    const bucket = ids['bucket_id']!;
    await refuseBucketDeletion(service, scope, bucket);
    for (const resource of service.routes.resources) {
      if (resource.source.bucket !== bucket) continue;
      const named = resource.source.collection;
      const { destination, preview } = resource;
      const collections = new Set(named === undefined ? [] : [named]);
      if (named === undefined) {
        // The sources are deleted already. The collections in the targets show which existed.
        for (const place of [destination, preview]) {
          if (place === undefined) continue;
          for await (const collection of readCollections(scope, place.bucket)) collections.add(collection);
        }
      }
      for (const collection of collections) await onSourceGone(service, scope, { bucket, collection }, pending);
    }
  }
  await signPending({ service, actor: { ...scope, caller: pluginCaller }, pending });
}

async function onSourceGone(
  service: SignerService,
  scope: Parameters<typeof workOn>[1],
  source: CollectionId,
  pending: PendingWork,
): Promise<void> {
  const route = service.routes.from(source);
  if (route === undefined) return;
  const work = workOn(service, scope, route, pending);
  // A collection without a signature was never a target.
  for (const target of targetsOf(route)) {
    const found = await findCollection(work, target);
    if (found !== undefined && Object.hasOwn(found.attributes, 'signature')) return onDeletion(work);
  }
}

/** Handles deletions of groups. All groups of an event belong to one bucket. */
async function onGroups(service: SignerService, event: ChangeEvent, { unit }: EventScope): Promise<void> {
  const changes = changesByOthers(event);
  const bucket = changes[0]?.ids['bucket_id'];
  if (bucket === undefined) return;
  const uris = new Set(changes.map(({ uri }) => uri));
  await refuseGroupDeletion(service, { unit, request: event.request }, bucket, uris);
}
