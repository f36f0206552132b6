// What the parts of the plugin share: the service it belongs to, and the work it does for one change.
import { authenticatedCaller, type Caller } from '../../engine/caller.ts';
import type { Actor, ObjectPlace, Objects } from '../../engine/objects.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { CollectionOptions, SignerOptions } from './options.ts';
import { placeUri, type CollectionId, type Route, type Routes } from './routes.ts';

export interface SignerService {
  readonly host: PluginHost;
  readonly routes: Routes;
  readonly options: SignerOptions;
  /** Statuses that the plugin has written in a unit of work, by the URI of the source. */
  readonly statuses: WeakMap<UnitOfWork, Map<string, string | undefined>>;
}

/** Who is told to have done what the plugin does. */
export const pluginUserId = 'plugin:remote-settings';

/** Recognised by identity: no user, whatever their id, can be this one. */
export const pluginCaller: Caller = authenticatedCaller(pluginUserId, []);

/** Work on the collections of one route, inside the unit of work of a request. */
export interface Work {
  readonly service: SignerService;
  /** The plugin itself. */
  readonly actor: Actor;
  readonly route: Route;
  readonly options: CollectionOptions;
}

/** The work that a change to a source causes. */
export function workOn(service: SignerService, actor: Omit<Actor, 'caller'>, route: Route): Work {
  const { unit, request } = actor;
  const options = service.options.of(route.source);
  return { service, actor: { unit, request, caller: pluginCaller }, route, options };
}

/** The collection as an object. */
export function collectionPlace(objects: Objects, { bucket, collection }: CollectionId): ObjectPlace {
  return objects.place('collection', { bucket_id: bucket, collection_id: collection });
}

/** The list of its records. */
export function recordsOf(id: CollectionId): ListKey {
  return { kind: 'record', parent: placeUri(id) };
}
