// The client: the root of a service, its buckets and collections.
import { attachmentsOf, type Attachment } from './attachments.ts';
import { Batch } from './batch.ts';
import { LiveHub } from './live.ts';
import { ObjectList, type Connection } from './object-list.ts';
import { check, Transport, type Request, type TransportOptions } from './transport.ts';
import type {
  CallOptions,
  CollectionData,
  GroupData,
  HistoryEntry,
  ListSettings,
  ServiceInfo,
  Stored,
} from './types.ts';
import type { InputOf, OutputOf, Validator } from './validate.ts';
import { partOf } from './values.ts';

type Data = Record<string, unknown>;

/** What can be reached below the root: in a client, and in a batch. */
export class Root {
  /** All buckets. */
  readonly buckets: ObjectList<Data>;
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
    this.buckets = this.list('/buckets');
  }

  /** Returns a bucket. `default` is the personal bucket of the caller. */
  bucket(id: string): Bucket {
    return new Bucket(this.connection, this.buckets.pathOf(id));
  }

  /** Returns the list at a path, for kinds of plugins. */
  list<T extends object = Data>(path: string): ObjectList<T> {
    return new ObjectList<T>(this.connection, path);
  }
}

/** A bucket. The object itself is in `coffer.buckets`. */
export class Bucket {
  readonly path: string;
  readonly collections: ObjectList<CollectionData>;
  readonly groups: ObjectList<GroupData>;
  /** Recorded changes, if the service has the plugin `history`. */
  readonly history: ObjectList<HistoryEntry>;
  readonly #connection: Connection;

  constructor(connection: Connection, path: string) {
    this.path = path;
    this.#connection = connection;
    this.collections = new ObjectList(connection, `${path}/collections`);
    this.groups = new ObjectList(connection, `${path}/groups`);
    this.history = new ObjectList(connection, `${path}/history`);
  }

  /** Returns a collection whose records have the type of a validator. */
  collection<V extends Validator>(
    id: string,
    settings: ListSettings<V> & { readonly schema: V },
  ): Collection<OutputOf<V> & object, InputOf<V> & object>;
  /** Returns a collection whose records have the given type. */
  collection<T extends object = Data>(id: string): Collection<T>;
  collection(id: string, settings?: ListSettings): unknown {
    return new Collection(this.#connection, this.path, id, settings);
  }
}

/** The records of a collection. The collection itself is in `bucket.collections`. */
export class Collection<T extends object, In extends object = T> extends ObjectList<T, In> {
  readonly #snapshot: string;

  constructor(connection: Connection, bucket: string, id: string, settings?: ListSettings) {
    const name = partOf(id);
    super(connection, `${bucket}/collections/${name}/records`, settings);
    this.#snapshot = `${bucket}/snapshot/collections/${name}`;
  }

  /** Returns the file of a record, if the service has the plugin `attachments`. */
  attachment(id: string): Attachment {
    return attachmentsOf(this.connection, this.pathOf(id));
  }

  /** Returns all records as they were at a time in milliseconds, if the service has the plugin `history`. */
  snapshot(time: number, { signal }: CallOptions = {}): Promise<readonly Stored<T>[]> {
    return this.connection.send(
      { method: 'GET', path: `${this.#snapshot}@${time}`, signal },
      (reply) => (check(reply) as { readonly data: readonly Stored<T>[] }).data,
    );
  }
}

type Results<C extends readonly unknown[]> = { -readonly [K in keyof C]: PromiseSettledResult<Awaited<C[K]>> };

/** A client of one service, as one user. */
export class Coffer extends Root {
  /** @param server root of the API, such as `https://coffer.example/v1` */
  constructor(server: string, options: TransportOptions = {}) {
    const transport = new Transport(server, options);
    super({ transport, send: transport.send, hub: new LiveHub(transport) });
  }

  /** Returns the root view: settings, capabilities and the user. */
  async info({ signal }: CallOptions = {}): Promise<ServiceInfo> {
    return (await this.request('GET', '/', { signal })) as ServiceInfo;
  }

  /**
   * Executes several calls in one transaction. Calls that fail with a status below 500 other than 409 do not undo the
   * others, and results are those of `Promise.allSettled`.
   *
   * @param calls makes the calls, without waiting for their results, and returns their promises
   * @throws CofferError when the batch as a whole fails
   */
  async batch<const C extends readonly Promise<unknown>[]>(
    calls: (root: Root) => C,
    options: CallOptions = {},
  ): Promise<Results<C>> {
    const batch = new Batch(this.connection.transport);
    const promises = calls(new Root({ ...this.connection, send: batch.send }));
    const settled = Promise.allSettled(promises);
    await batch.run(options);
    return settled;
  }

  /** Returns the objects that the caller may reach, if the service has the permissions endpoint. */
  get permissions(): ObjectList<{ readonly uri: string; readonly permissions: readonly string[] }> {
    return this.list('/permissions');
  }

  /** Sends any other request and returns the body of its response. */
  async request(
    method: string,
    path: string,
    options: Pick<Request, 'body' | 'headers' | 'signal'> = {},
  ): Promise<unknown> {
    return check(await this.connection.transport.request({ method, path, ...options }));
  }
}
