// A list of objects of one kind, with the operations on the list and on its objects.
import { Listing, formatQuery } from './listing.ts';
import type { LiveHub } from './live.ts';
import { check, errorOf, type Request, type Send, type Transport } from './transport.ts';
import type {
  CallOptions,
  Change,
  ChangesOptions,
  Draft,
  Entry,
  Field,
  ListOptions,
  ListSettings,
  LiveOptions,
  LiveUpdate,
  MergePatch,
  Operation,
  Permissions,
  Picked,
  ReadOptions,
  Revision,
  Stored,
  Tombstone,
  WriteOptions,
} from './types.ts';
import { validate } from './validate.ts';
import { includes, isEqual, isRemoval, newId, preconditions, defined, partOf } from './values.ts';

/** What all lists of a client share. */
export interface Connection {
  readonly transport: Transport;
  readonly send: Send;
  readonly hub: LiveHub;
}

interface Envelope {
  readonly data?: object;
  readonly permissions?: Permissions | undefined;
}

/**
 * A list of objects.
 *
 * @template T attributes of the objects that are read
 * @template In attributes of objects that are written; differs from `T` if a validator transforms them
 */
export class ObjectList<T extends object, In extends object = T> {
  /** Path below the root of the API. */
  readonly path: string;
  protected readonly connection: Connection;
  readonly #settings: ListSettings;

  constructor(connection: Connection, path: string, settings: ListSettings = {}) {
    this.connection = connection;
    this.path = path;
    this.#settings = settings;
  }

  /** Reads an object. With `ifNoneMatch`, returns `undefined` when the object still has that timestamp. */
  get<const F extends Field<T> = never>(
    id: string,
    options: ReadOptions<F> & { readonly ifNoneMatch: Revision },
  ): Promise<Picked<T, F> | undefined>;
  get<const F extends Field<T> = never>(
    id: string,
    options?: ReadOptions<F> & { readonly ifNoneMatch?: undefined },
  ): Promise<Picked<T, F>>;
  async get(id: string, options: ReadOptions & { readonly ifNoneMatch?: Revision | undefined } = {}): Promise<unknown> {
    const { fields } = options;
    return this.connection.send(
      { ...this.#request('GET', id, options), path: `${this.pathOf(id)}?${formatQuery({ fields })}` },
      async (reply) => {
        if (reply.status === 304) return undefined;
        return this.#accept(dataOf(check(reply)), fields !== undefined);
      },
    );
  }

  /** Lists the objects that match. */
  list<const F extends Field<T> = never>(options: ListOptions<T, F> = {}): Listing<Picked<T, F>> {
    return this.#listing(options);
  }

  /** Lists what has changed after a timestamp: objects and tombstones. */
  changes<const F extends Field<T> = never>(
    options: ChangesOptions<T, F>,
  ): Listing<Exclude<Change<T>, Stored<T>> | Picked<T, F>> {
    return this.#listing(options);
  }

  /**
   * Creates an object, with `id` of the data or a new one. Never overwrites: an existing object gives 412. A call whose
   * response was lost is repeated, and recognises the object that it has created.
   */
  create(data: Draft<In>, options: Omit<WriteOptions, 'ifMatch' | 'ifNoneMatch'> = {}): Promise<Stored<T>> {
    const { id = newId() } = data;
    // No other client knows a new id.
    const explains = data.id === undefined || isEqual;
    return this.#write('PUT', id, this.#draft(data, options), { ...options, ifNoneMatch: '*' }, explains);
  }

  /** Creates or replaces an object. */
  put(id: string, data: Draft<In>, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#write('PUT', id, this.#draft(data, options), options, isEqual);
  }

  /**
   * Changes a part of an object: attributes, each replaced as a whole; a merge patch (RFC 7396) with `format: 'merge'`; or a
   * list of operations (RFC 6902) on `{ data, permissions }`.
   */
  patch(id: string, operations: readonly Operation[], options?: WriteOptions): Promise<Stored<T>>;
  patch(id: string, changes: MergePatch<In>, options: WriteOptions & { readonly format: 'merge' }): Promise<Stored<T>>;
  patch(id: string, attributes: Partial<Draft<In>>, options?: WriteOptions): Promise<Stored<T>>;
  patch(id: string, change: object, options: WriteOptions & { readonly format?: 'merge' } = {}): Promise<Stored<T>> {
    if (Array.isArray(change)) return this.#write('PATCH', id, change, options, undefined, 'json-patch');
    const body = { data: draftOf(change, options), permissions: options.permissions };
    if (options.format) return this.#write('PATCH', id, body, options, undefined, 'merge-patch');
    return this.#write('PATCH', id, body, options, includes);
  }

  /** Deletes an object. */
  async delete(id: string, options: Omit<WriteOptions, 'permissions'> = {}): Promise<Tombstone> {
    const { lastModified } = options;
    const request = this.#request('DELETE', id, options);
    const path = lastModified === undefined ? request.path : `${request.path}?last_modified=${lastModified}`;
    return this.connection.send({ ...request, path, isRepeatable: true }, async (reply) => {
      const isRepeated = reply.isRepeated || options.repeated;
      // An earlier attempt may have deleted it. The tombstone shows it.
      if (reply.status === 404 && isRepeated) {
        const lookup = defined({ since: 0, params: { id: JSON.stringify(id) }, signal: options.signal });
        const { data } = await this.changes(lookup).page();
        const [found] = data;
        if (found !== undefined && isRemoval(found)) return found as Tombstone;
      }
      return dataOf(check(reply)) as Tombstone;
    });
  }

  /**
   * Deletes all objects that match, page by page. If an error interrupts it, some objects are deleted.
   *
   * @param options `ifMatch` compares with the timestamp of the list
   */
  async deleteAll(options: Omit<ListOptions<T>, 'fields' | 'total'> = {}): Promise<readonly Tombstone[]> {
    return (await this.#listing<Tombstone>(options, 'DELETE').all()).data;
  }

  /** Reads an object with its permissions. */
  async entry(id: string, options: CallOptions & { readonly ifMatch?: Revision } = {}): Promise<Entry<T>> {
    return this.connection.send(this.#request('GET', id, options), async (reply) => {
      const { data = {}, permissions = {} } = check(reply) as Envelope;
      return { data: (await this.#accept(data, false)) as Stored<T>, permissions };
    });
  }

  /** Changes the permissions of an object. */
  permissions(id: string): PermissionsOfObject {
    const send = async (body: object, options: WriteOptions, isRepeatable: boolean): Promise<Permissions> => {
      const format = Array.isArray(body) ? 'json-patch' : undefined;
      const request = { ...this.#request('PATCH', id, options, format), body, isRepeatable };
      return this.connection.send(request, (reply) => (check(reply) as Envelope).permissions ?? {});
    };
    const change = (op: 'add' | 'remove', given: Permissions, options: WriteOptions): Promise<Permissions> => {
      const operations = Object.entries(given).flatMap(([permission, principals]) =>
        principals.map((principal) => ({ op, path: `/permissions/${escape(permission)}/${escape(principal)}` })),
      );
      return send(operations, options, op === 'add');
    };
    return {
      get: async (options) => (await this.entry(id, options)).permissions,
      set: (given, options = {}) => send({ permissions: given }, options, true),
      add: (given, options = {}) => change('add', given, options),
      remove: (given, options = {}) => change('remove', given, options),
    };
  }

  /**
   * Follows the list. Yields what changes, after a complete copy if `since` is absent, until the signal aborts or the loop
   * ends. Reconnects by itself.
   *
   * @throws CofferError when the list may not be read, or no longer
   */
  live<const F extends Field<T> = never>(options: LiveOptions<T, F> = {}): AsyncIterable<LiveUpdate<Picked<T, F>>> {
    const { fields } = options;
    const accept = (item: object): Promise<object> => this.#accept(item, fields !== undefined);
    return this.connection.hub.follow(this.path, options, accept);
  }

  /** Returns the path of an object. */
  pathOf(id: string): string {
    return `${this.path}/${partOf(id)}`;
  }

  #listing<C>(options: ListOptions<never>, method?: string): Listing<C> {
    const isPart = options.fields !== undefined;
    return new Listing(this.connection.send, this.path, options, (item) => this.#accept(item, isPart), method);
  }

  #request(
    method: string,
    id: string,
    options: CallOptions & { readonly ifMatch?: Revision | undefined; readonly ifNoneMatch?: Revision | undefined },
    format?: string,
  ): Request {
    const headers = preconditions(options);
    if (format !== undefined) headers['Content-Type'] = `application/${format}+json`;
    return { method, path: this.pathOf(id), headers, signal: options.signal };
  }

  /** Returns the body of a PUT. */
  async #draft(data: object, options: WriteOptions): Promise<Envelope> {
    const { schema, validate: when } = this.#settings;
    const { id: _, ...attributes } = draftOf(data, {}) as { readonly id?: string };
    const valid = await validate(when === 'read' ? undefined : schema, attributes);
    return { data: draftOf(valid, options), permissions: options.permissions };
  }

  /**
   * Sends an object or a part of it.
   *
   * @param explains whether the attributes that exist are those that the call wants to write, so that a 412 comes from an
   *   earlier attempt; `true`: the id is new, so it does; `undefined`: it cannot be known. Nor can it for permissions of an object
   *   that existed before, to which the service adds the caller
   */
  async #write(
    method: string,
    id: string,
    body: object | Promise<object>,
    options: WriteOptions,
    explains: true | ((existing: object, sent: object) => boolean) | undefined,
    format?: string,
  ): Promise<Stored<T>> {
    const request = this.#request(method, id, options, format);
    // Operations such as `add` have another effect the second time, unless a precondition prevents it.
    const isRepeatable = format !== 'json-patch' || options.ifMatch !== undefined;
    const prepare = async (): Promise<Request> => ({ ...request, isRepeatable, body: await body });
    return this.connection.send(prepare(), async (reply) => {
      if (reply.status === 412 && (reply.isRepeated || options.repeated)) {
        const { existing } = errorOf(reply.status, reply.body);
        const { data = {}, permissions } = (await body) as Envelope;
        const isOwn =
          existing &&
          (explains === true ||
            (explains?.(comparable(existing, data), comparable(data, data)) &&
              (!permissions || (options.ifNoneMatch && (await this.#isPermitted(id, permissions, options))))));
        if (isOwn) return (await this.#accept(existing, false)) as Stored<T>;
      }
      return (await this.#accept(dataOf(check(reply)), false)) as Stored<T>;
    });
  }

  /** Returns whether an object has permissions, and possibly others. */
  async #isPermitted(id: string, wanted: Permissions, { signal }: CallOptions): Promise<boolean> {
    const { permissions } = await this.entry(id, defined({ signal }));
    return Object.entries(wanted).every(([name, principals]) =>
      principals.every((principal) => permissions[name]?.includes(principal)),
    );
  }

  /** Applies the validator to an object that was read. */
  async #accept(item: object, isPart: boolean): Promise<object> {
    const { schema, validate: when } = this.#settings;
    if (schema === undefined || when === 'write' || isPart || isRemoval(item)) return item;
    const { id, last_modified, ...attributes } = item as Stored<object>;
    return { ...(await validate(schema, attributes)), id, last_modified };
  }
}

/** Permissions of one object. */
export interface PermissionsOfObject {
  get(options?: CallOptions): Promise<Permissions>;
  /** Replaces the principals of the permissions that are named. */
  set(permissions: Permissions, options?: WriteOptions): Promise<Permissions>;
  /** Adds principals, whatever other callers change at the same time. */
  add(permissions: Permissions, options?: WriteOptions): Promise<Permissions>;
  /** Removes principals, whatever other callers change at the same time. */
  remove(permissions: Permissions, options?: WriteOptions): Promise<Permissions>;
}

const escape = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const dataOf = (body: unknown): object => (body as { readonly data: object }).data;

/**
 * Returns attributes with the timestamp of the options only. An old timestamp that a copy has would make an object that was
 * deleted meanwhile invisible to clients that follow changes.
 */
function draftOf(data: object, { lastModified }: WriteOptions): object {
  const { last_modified: _, ...attributes } = data as { readonly last_modified?: unknown };
  return lastModified === undefined ? attributes : { ...attributes, last_modified: lastModified };
}

/** Returns the attributes of a stored object that can be compared with those that were sent, as JSON. */
function comparable(data: object, sent: object): object {
  const { id: _, last_modified: __, ...attributes } = JSON.parse(JSON.stringify(data)) as Stored<object>;
  // The service adds the timestamp of the schema to records with validation.
  if (!Object.hasOwn(sent, 'schema')) delete (attributes as { schema?: unknown }).schema;
  return attributes;
}
