// Objects of every kind for code that acts for the service: plugins and listeners. Writes use the steps of
// requests, with locks, hooks and events. Permissions are not checked: the calling code has to check them.
import type { Deletion } from '../contracts/storage.ts';
import type { ObjectId, PathIds } from '../core/objects/object-id.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { invalidParameters } from '../core/errors.ts';
import { createUriParser, type ObjectAddress, type ObjectUri } from '../core/objects/uris.ts';
import type { Principal } from '../core/permissions/principals.ts';
import { bytesOfShared, filterAllowed, isAllowed, refusal } from './access.ts';
import type { Caller } from './caller.ts';
import type { CompiledKind } from './compiled-kind.ts';
import type { Context } from './context.ts';
import { finishDeletions } from './delete-objects.ts';
import type { ServiceRequest } from './exchange.ts';
import { haveOwners, parseOwner, withOwners } from './owned-lists.ts';
import { openScope, type WriteOptions, type Scope } from './scope.ts';
import { roomFor, roomForObjects } from './stored-work.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { changeObject, type ObjectChange, type Written } from './write-object.ts';

/** The unit of work, the caller that changes are attributed to, and the request that the work belongs to. */
export interface Actor {
  readonly unit: UnitOfWork;
  readonly caller: Caller;
  readonly request: ServiceRequest;
}

/** One object by its kind and the ids in its URI, including its own. */
export interface ObjectPlace {
  readonly kind: string;
  readonly ids: PathIds;
}

export class Objects {
  readonly #kinds: ReadonlyMap<string, CompiledKind>;
  readonly #options: WriteOptions;
  /** Created on first use, because the kinds are added after the constructor has run. */
  #parseUri: ReturnType<typeof createUriParser> | undefined;

  constructor(kinds: ReadonlyMap<string, CompiledKind>, options: WriteOptions) {
    this.#kinds = kinds;
    this.#options = options;
  }

  /**
   * Returns a kind by its name.
   *
   * @throws Error for a kind that the service does not have
   */
  kind(name: string): CompiledKind {
    const kind = this.#kinds.get(name);
    if (kind === undefined) throw new Error(`The resource kind ${name} does not exist.`);
    return kind;
  }

  /** All kinds, parents before children. */
  get kinds(): ReadonlyMap<string, CompiledKind> {
    return this.#kinds;
  }

  /**
   * Returns the place for ids that do not come from a path: from settings, bodies or other ids.
   *
   * @throws ServiceError invalidParameters when a kind does not accept its id
   */
  place(kind: string, texts: Readonly<Record<string, string>>): ObjectPlace {
    const place = this.findPlace(kind, texts);
    if (place !== undefined) return place;
    const description = `no ${kind} can have these ids: ${JSON.stringify(texts)}`;
    throw invalidParameters([{ location: 'path', name: null, description }]);
  }

  /** Returns the place, or `undefined` when a kind does not accept its id. */
  findPlace(kind: string, texts: Readonly<Record<string, string>>): ObjectPlace | undefined {
    const ids: Record<string, ObjectId> = {};
    for (let each: CompiledKind | undefined = this.kind(kind); each !== undefined; each = each.parent) {
      const id = each.ids.parse(texts[each.idName] ?? '');
      if (id === undefined) return undefined;
      ids[each.idName] = id;
    }
    for (const { ownerName } of this.kind(kind).owned) {
      const given = texts[ownerName];
      if (given === undefined) continue;
      const owner = parseOwner(given);
      if (owner === undefined) return undefined;
      ids[ownerName] = owner;
    }
    return { kind, ids };
  }

  /** Returns the object that a URI names, or `undefined` when no object can have that URI. */
  findByUri(uri: string): ObjectPlace | undefined {
    const address = this.#parse(uri);
    return address === undefined ? undefined : this.findPlace(address.kind, address.ids);
  }

  /** Returns whether a principal has the form of a group URI with ids that no group can have. */
  isImpossibleGroup(principal: Principal): boolean {
    if (!principal.startsWith('/')) return false;
    const address = this.#parse(principal);
    return address?.kind === 'group' && this.findPlace(address.kind, address.ids) === undefined;
  }

  #parse(uri: string): ObjectAddress | undefined {
    this.#parseUri ??= createUriParser(
      Array.from(this.#kinds.values(), ({ name, uriTemplate }) => [name, uriTemplate] as const),
    );
    return this.#parseUri(uri);
  }

  /** Returns the URI of the object. In owned lists the place has to name the owner, as places of changes do. */
  uri({ kind, ids }: ObjectPlace): ObjectUri {
    return this.kind(kind).objectUri(ids);
  }

  /**
   * Returns whether the caller has a permission on an object, by the check that every endpoint makes.
   *
   * @param permission name that the kind declares or a plugin has added to it
   */
  isAllowed(
    { unit, caller }: Pick<Context, 'unit' | 'caller'>,
    place: ObjectPlace,
    permission: string,
  ): Promise<boolean> {
    const kind = this.kind(place.kind);
    const ids = withOwners(kind.owned, place.ids, caller);
    return isAllowed(kind.rule(permission), caller, unit.reader, ids);
  }

  /**
   * Returns those of the ids on whose objects `isAllowed` grants the caller the permission. Makes the same number of queries
   * for any number of objects.
   *
   * @param list kind of the objects, and the ids in the path of their list
   */
  filterAllowed(
    { unit, caller, request }: Actor,
    list: ObjectPlace,
    objectIds: ReadonlySet<ObjectId>,
    permission: string,
  ): Promise<ReadonlySet<string>> {
    const kind = this.kind(list.kind);
    const ids = withOwners(kind.owned, list.ids, caller);
    const requireRoom = roomForObjects({ request }, bytesOfShared);
    const asked = { uri: kind.listUri(ids), idName: kind.idName, rule: kind.rule(permission), requireRoom };
    return filterAllowed(asked, objectIds, caller, unit.reader, ids);
  }

  /**
   * Requires the caller to have a permission on an object.
   *
   * @throws ServiceError missingAuthToken, forbidden
   */
  async requireAllowed(
    context: Pick<Context, 'unit' | 'caller'>,
    place: ObjectPlace,
    permission: string,
  ): Promise<void> {
    if (!(await this.isAllowed(context, place, permission))) throw refusal(context.caller);
  }

  /** Returns the live object, or `undefined`. Reserves memory for showing a long one. */
  find({ unit, caller, request }: Actor, { kind, ids }: ObjectPlace): Promise<StoredObject | undefined> {
    const found = this.kind(kind);
    const list = found.listKey(withOwners(found.owned, ids, caller), caller);
    return unit.reader.storage.get(list, ids[found.idName]!, roomFor({ request }, 'show'));
  }

  /**
   * Creates the object or replaces its attributes.
   *
   * @param change.isByService as in `Change`; default `true`
   * @returns `undefined` when nothing was written
   * @throws ServiceError missingParent, or the error of a hook of the kind
   */
  async write(
    actor: Actor,
    place: ObjectPlace,
    change: ObjectChange & { readonly isByService?: boolean },
  ): Promise<Written | undefined> {
    return changeObject(await this.#openScope(actor, place, change.isByService), change);
  }

  /** Deletes the object and what belongs to it; returns `undefined` when it does not exist. */
  async remove(actor: Actor, place: ObjectPlace): Promise<Deletion | undefined> {
    const scope = await this.#openScope(actor, place);
    const writer = await actor.unit.writer();
    const { timestamp: clock } = await writer.storage.lock(scope.list);
    const deletion = await writer.storage.delete(scope.list, place.ids[scope.kind.idName]!);
    if (deletion !== undefined) await finishDeletions(scope, writer, clock, [deletion]);
    return deletion;
  }

  /** Opens the scope of a request for the object without parameters and headers. */
  #openScope(
    { unit, caller, request }: Actor,
    { kind, ids: given }: ObjectPlace,
    isByService = true,
  ): Promise<Scope<WriteOptions>> {
    const found = this.kind(kind);
    const ids = withOwners(found.owned, given, caller);
    if (!haveOwners(found.owned, ids)) {
      throw new Error(`The place of a ${kind} names no owner, and the caller has no list of them.`);
    }
    const context: Context = {
      request,
      path: found.objectUri(ids),
      ids,
      parameters: {},
      query: [],
      unit,
      caller,
      issues: [],
      now: this.#options.clock.now(),
      dispatch: () => Promise.reject(new Error('A write by the service dispatches no requests.')),
      authenticate: () => Promise.resolve(),
      renew: () => Promise.reject(new Error('A write by the service does not begin again.')),
    };
    // Writes by the service add no principal to the `write` entry.
    const options = { ...this.#options, explicitPermissions: false };
    return openScope(found, options, context, { isByService });
  }
}
