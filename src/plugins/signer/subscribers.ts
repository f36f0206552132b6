// Who hears of which changes: clients edit sources, ask for reviews and signatures, and try what they must not.
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { EventScope, Subscriber } from '../../engine/events/subscriber.ts';
import { refuseBucket, refuseFloats, refuseGroups, refuseOnTarget, refuseRecords, readCollections } from './guards.ts';
import { parseCollectionUri, targetsOf, type CollectionId } from './routes.ts';
import { collectionPlace, pluginCaller, workOn, type SignerService } from './service.ts';
import { onDeletion, onEdit, onSourceChange } from './workflow.ts';

/** The subscribers of the plugin; all of them work inside the transaction. */
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

/** What others have done; the plugin knows what it does itself. */
function changesByOthers({ changes }: ChangeEvent): readonly Change[] {
  return changes.filter(({ caller }) => caller !== pluginCaller);
}

/** All records of an event are of one collection. */
async function onRecords(service: SignerService, event: ChangeEvent, { unit }: EventScope): Promise<void> {
  const changes = changesByOthers(event);
  const last = changes.at(-1);
  const id = parseCollectionUri(event.list.parent);
  if (last === undefined || id === undefined) return;
  const acting = { unit, request: event.request };
  await refuseRecords(service, acting, id);
  const route = service.routes.from(id);
  if (route === undefined) return;
  const work = workOn(service, acting, route);
  for (const change of changes) refuseFloats(work, change);
  await onEdit(work, last);
}

async function onCollections(service: SignerService, event: ChangeEvent, scope: EventScope): Promise<void> {
  const acting = { unit: scope.unit, request: event.request };
  for (const change of changesByOthers(event)) {
    const id: CollectionId = { bucket: change.ids['bucket_id']!, collection: change.ids['collection_id']! };
    await refuseOnTarget(service, acting, id, change);
    const route = service.routes.from(id);
    if (route !== undefined) await onSourceChange(workOn(service, acting, route), { event, change, scope });
  }
}

/** With a bucket everything in it is gone, without any event of its own. */
async function onBuckets(service: SignerService, event: ChangeEvent, { unit }: EventScope): Promise<void> {
  const acting = { unit, request: event.request };
  for (const { ids } of changesByOthers(event)) {
    const bucket = ids['bucket_id']!;
    await refuseBucket(service, acting, bucket);
    for (const resource of service.routes.resources) {
      if (resource.source.bucket !== bucket) continue;
      const named = resource.source.collection;
      const { destination, preview } = resource;
      const collections = new Set(named === undefined ? [] : [named]);
      if (named === undefined) {
        // What the sources were shows in where they led to.
        for (const place of [destination, preview]) {
          if (place === undefined) continue;
          for await (const collection of readCollections(acting, place.bucket)) collections.add(collection);
        }
      }
      for (const collection of collections) await onSourceGone(service, acting, { bucket, collection });
    }
  }
}

async function onSourceGone(
  service: SignerService,
  acting: Parameters<typeof workOn>[1],
  source: CollectionId,
): Promise<void> {
  const route = service.routes.from(source);
  if (route === undefined) return;
  const work = workOn(service, acting, route);
  // Collections that were never signed are somebody else's.
  for (const target of targetsOf(route)) {
    const found = await service.host.objects.find(work.actor, collectionPlace(service.host.objects, target));
    if (found !== undefined && Object.hasOwn(found.attributes, 'signature')) return onDeletion(work);
  }
}

/** All groups of an event are of one bucket. */
async function onGroups(service: SignerService, event: ChangeEvent, { unit }: EventScope): Promise<void> {
  const changes = changesByOthers(event);
  const bucket = changes[0]?.ids['bucket_id'];
  if (bucket === undefined) return;
  const uris = new Set(changes.map(({ uri }) => uri));
  await refuseGroups(service, { unit, request: event.request }, bucket, uris);
}
