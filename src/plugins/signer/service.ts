// Shared by the parts of the plugin: the service, the work for one change, access to collections, and errors.
import { ServiceError } from '../../core/errors.ts';
import { formatUserId } from '../../core/permissions/principals.ts';
import { authenticatedCaller, type Caller } from '../../engine/caller.ts';
import type { Actor, ObjectPlace, Objects } from '../../engine/objects.ts';
import { formatJson, getKey, type JsonObject } from '../../base/json.ts';
import { isTombstone, type ListKey, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { CollectionOptions, SignerOptions } from './options.ts';
import type { PendingWork } from './pending-work.ts';
import { placeUri, type CollectionId, type Route, type Routes } from './routes.ts';

export interface SignerService {
  readonly host: PluginHost;
  readonly routes: Routes;
  readonly options: SignerOptions;
  /** Statuses that the plugin has written in a unit of work, by the URI of the source. */
  readonly statuses: WeakMap<UnitOfWork, Map<string, string | undefined>>;
}

/** User id recorded for changes made by the plugin. */
export const pluginUserId = formatUserId('plugin', 'remote-settings');

/** Compared by identity, so that no user id can impersonate the plugin. */
export const pluginCaller: Caller = authenticatedCaller(pluginUserId);

/** Work on the collections of one route, inside the unit of work of a request. */
export interface Work {
  readonly service: SignerService;
  /** The plugin itself. */
  readonly actor: Actor;
  readonly route: Route;
  readonly options: CollectionOptions;
  readonly pending: PendingWork;
}

/** Returns the work for a change to a source. */
export function workOn(
  service: SignerService,
  { unit, request }: Omit<Actor, 'caller'>,
  route: Route,
  pending: PendingWork,
): Work {
  const options = service.options.of(route.source);
  return { service, actor: { unit, request, caller: pluginCaller }, route, options, pending };
}

/** Returns the place of the collection object. */
export function collectionPlace(objects: Objects, { bucket, collection }: CollectionId): ObjectPlace {
  return objects.place('collection', { bucket_id: bucket, collection_id: collection });
}

/** Returns the stored collection, or `undefined` when it does not exist. */
export function findCollection(
  { service: { host }, actor }: Pick<Work, 'service'> & { readonly actor: Actor },
  id: CollectionId,
): Promise<StoredObject | undefined> {
  return host.objects.find(actor, collectionPlace(host.objects, id));
}

/** Returns the attributes of an object, and none for a tombstone or an absent object. */
export function attributesOf(entry: StoredEntry | undefined): JsonObject {
  return entry === undefined || isTombstone(entry) ? {} : entry.attributes;
}

/** Returns whether an attribute has the same value in both objects. */
export function isSameAttribute(a: StoredEntry | undefined, b: StoredEntry | undefined, field: string): boolean {
  const [before, after] = [a, b].map((entry) => {
    const value = getKey(attributesOf(entry), field);
    return value === undefined ? undefined : formatJson(value);
  });
  return before === after;
}

/** Returns the list of the records of a collection. */
export function recordsOf(id: CollectionId): ListKey {
  return { kind: 'record', parent: placeUri(id) };
}

/** Returns the error for an invalid request. */
export function invalid(message: string): ServiceError {
  return new ServiceError('invalidPostedData', { message });
}

/** Returns the error for a change that the caller, or any client, must not make. */
export function forbidden(message: string): ServiceError {
  return new ServiceError('forbidden', { message });
}
