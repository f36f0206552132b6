// Objects of every kind for code that acts for the service and not for a client: plugins and listeners. Writes take the
// same way as those of requests, with locks, hooks and events, but nobody is asked for permission, so who calls this
// must have asked.
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { JsonObject } from '../base/json.ts';
import type { Deletion } from '../contracts/storage.ts';
import type { ObjectId, PathIds } from '../core/objects/object-id.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { invalidParameters } from '../core/errors.ts';
import { createUriParser, type ObjectAddress } from '../core/objects/uris.ts';
import { isAllowed, refusal } from './access.ts';
import type { Caller } from './caller.ts';
import type { CompiledKind } from './compiled-kind.ts';
import type { Context } from './context.ts';
import type { ServiceRequest } from './exchange.ts';
import { haveOwners, parseOwner, withOwners } from './owned-lists.ts';
import { holdParent, openScope, type EngineOptions, type Scope } from './scope.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { finishDeletions } from './verbs/remove.ts';
import { writeObject, type Written } from './verbs/write.ts';

/** Whose work it is: the unit of work, who is told to have done it, and the request it belongs to. */
export interface Actor {
  readonly unit: UnitOfWork;
  readonly caller: Caller;
  readonly request: ServiceRequest;
}

/** One object by its kind and the ids in its URI, its own included. */
export interface ObjectPlace {
  readonly kind: string;
  readonly ids: PathIds;
}

export class Objects {
  readonly #kinds: ReadonlyMap<string, CompiledKind>;
  readonly #options: EngineOptions;
  /** Made when it is first used, for the kinds come later than this. */
  #parseUri: ReturnType<typeof createUriParser> | undefined;

  constructor(kinds: ReadonlyMap<string, CompiledKind>, options: EngineOptions) {
    this.#kinds = kinds;
    this.#options = options;
  }

  /** @throws Error for a kind that the service does not have */
  kind(name: string): CompiledKind {
    const kind = this.#kinds.get(name);
    if (kind === undefined) throw new Error(`There is no resource kind ${name}.`);
    return kind;
  }

  /** All kinds, parents before children. */
  get kinds(): ReadonlyMap<string, CompiledKind> {
    return this.#kinds;
  }

  /**
   * Returns the place with ids that come from elsewhere than a path: settings, bodies, the ids of other objects.
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

  /** Whether the text has the form of a group's URI, with ids that no group can have: a principal that nobody ever is. */
  isImpossibleGroup(principal: string): boolean {
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

  /** URI of the object. Where lists belong to callers, the place has to name the owner, as places of changes do. */
  uri({ kind, ids }: ObjectPlace): string {
    return this.kind(kind).objectUri(ids);
  }

  /**
   * Whether the caller may do something to an object: the check that every endpoint makes.
   *
   * @param permission one that the kind declares, or a plugin has added to it
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

  /** @throws ServiceError missingAuthToken, forbidden */
  async requireAllowed(
    context: Pick<Context, 'unit' | 'caller'>,
    place: ObjectPlace,
    permission: string,
  ): Promise<void> {
    if (!(await this.isAllowed(context, place, permission))) throw refusal(context.caller);
  }

  /** The live object, or `undefined`. */
  find(
    { unit, caller }: Pick<Context, 'unit' | 'caller'>,
    { kind, ids }: ObjectPlace,
  ): Promise<StoredObject | undefined> {
    const found = this.kind(kind);
    const list = found.listKey(withOwners(found.owned, ids, caller), caller);
    return unit.reader.storage.get(list, ids[found.idName]!);
  }

  /**
   * Creates the object or replaces its attributes.
   *
   * @param write.attributes from the object as it is under the lock, `undefined` when there is none; returning
   *   `undefined` leaves everything as it is
   * @param write.permissions entries after the write, from those before; absent: as they are
   * @param write.lastModified timestamp, when it lies above that of the object; absent: a new one
   * @param write.isVerbatim whether the attributes are stored without being checked and completed: for what has been
   *   through that elsewhere, as with copies
   * @param write.copiedFrom URI of the object whose attributes these are, read in this unit of work under the lock of its
   *   list; subscribers find it in the change
   * @returns `undefined` when nothing was written
   * @throws ServiceError missingParent; whatever the kind's hooks refuse
   */
  async write(
    actor: Actor,
    place: ObjectPlace,
    write: {
      readonly attributes: (old: StoredObject | undefined) => JsonObject | undefined;
      readonly permissions?: (stored: ObjectPermissions) => ObjectPermissions;
      readonly lastModified?: number | undefined;
      readonly isVerbatim?: boolean;
      readonly copiedFrom?: string;
    },
  ): Promise<Written | undefined> {
    const scope = await this.#openScope(actor, place);
    const id = place.ids[scope.kind.idName]!;
    const writer = await actor.unit.writer();
    await holdParent(scope, writer);
    const { object: old, timestamp: clock } = await writer.storage.lock(scope.list, id);
    const attributes = write.attributes(old);
    if (attributes === undefined) return undefined;
    const { permissions = (stored) => stored, lastModified: sentTimestamp, isVerbatim = false, copiedFrom } = write;
    const wanted = { id, old, clock, attributes, sentTimestamp, permissions, isVerbatim, copiedFrom };
    return writeObject(scope, writer, wanted);
  }

  /**
   * Deletes the object and what belongs to it; `undefined` when there is none.
   *
   * @param options.lastModified timestamp of the tombstone; absent: a new one
   */
  async remove(
    actor: Actor,
    place: ObjectPlace,
    options: { readonly lastModified?: number | undefined } = {},
  ): Promise<Deletion | undefined> {
    const scope = await this.#openScope(actor, place);
    const writer = await actor.unit.writer();
    const { timestamp: clock } = await writer.storage.lock(scope.list);
    const deletion = await writer.storage.delete(scope.list, place.ids[scope.kind.idName]!, options);
    if (deletion !== undefined) await finishDeletions(scope, writer, clock, [deletion]);
    return deletion;
  }

  /** As if a request had come for the object, but one that asks for nothing. */
  #openScope({ unit, caller, request }: Actor, { kind, ids: given }: ObjectPlace): Promise<Scope> {
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
    };
    // Nobody becomes writer of what the service itself writes.
    const options = { ...this.#options, explicitPermissions: false };
    return openScope(found, options, context, { isByService: true });
  }
}
