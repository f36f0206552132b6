// A service with a list, and databases of RxDB that replicate it.
import { setTimeout } from 'node:timers/promises';
import {
  addRxPlugin,
  createRxDatabase,
  type HashFunction,
  type RxCollection,
  type RxDatabase,
  type RxStorage,
} from 'rxdb';
import { disableWarnings, RxDBDevModePlugin } from 'rxdb/plugins/dev-mode';
import type { RxReplicationState } from 'rxdb/plugins/replication';
import { getRxStorageMemory } from 'rxdb/plugins/storage-memory';
import { wrappedValidateAjvStorage } from 'rxdb/plugins/validate-ajv';
import { basic, Coffer, type ClientOptions, type Collection as Records, type ObjectList } from '@coffer/client';
import {
  replicateCoffer,
  type CofferCheckpoint,
  type CofferReplicationOptions,
} from '../../../packages/rxdb/src/index.ts';
import { startTestService, type TestBackend, type TestService } from '../../../src/testing/index.ts';
import { allBackends } from '../../support/backends.ts';

// It checks more, and allows several databases with one name, like those of browser tabs.
disableWarnings();
addRxPlugin(RxDBDevModePlugin);

/** A document of most tests. */
export interface Todo {
  id: string;
  title: string;
  done?: boolean;
  size?: number;
  tags?: string[];
  place?: { room?: string };
}

export type Todos = RxCollection<Todo>;
export type Replication<D = Todo> = RxReplicationState<D, CofferCheckpoint>;
export type Stored = Record<string, unknown>;

export const todoSchema = {
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 100 },
    title: { type: 'string', maxLength: 100 },
    done: { type: 'boolean' },
    size: { type: 'number', minimum: 0, maximum: 10_000, multipleOf: 1 },
    tags: { type: 'array', items: { type: 'string' } },
    place: { type: 'object', properties: { room: { type: 'string' } } },
  },
  required: ['id', 'title'],
  indexes: ['title'],
} as const;

/** A validating storage whose databases survive being closed. */
export const newStorage = (): RxStorage<any, any> => wrappedValidateAjvStorage({ storage: getRxStorageMemory() });

/** Returns a backend by its name. */
export function backendNamed(name: string): TestBackend {
  const backend = allBackends.find((candidate) => candidate.name === name);
  if (backend === undefined) throw new Error(`No backend ${name}.`);
  return backend;
}

let names = 0;
export const newName = (): string => `n${names++}`;

export interface DatabaseOptions {
  readonly name?: string;
  readonly storage?: RxStorage<any, any>;
  readonly schema?: object;
  readonly conflictHandler?: object;
  readonly multiInstance?: boolean;
  readonly hashFunction?: HashFunction;
}

export class World {
  readonly service: TestService;
  readonly client: Coffer;
  readonly #open: RxDatabase[] = [];

  private constructor(service: TestService) {
    this.service = service;
    this.client = this.clientOf('owner');
  }

  static async start(
    start: typeof startTestService = startTestService,
    settings: Record<string, string> = {},
  ): Promise<World> {
    const world = new World(await start({ settings }));
    await world.client.buckets.put('b', {});
    return world;
  }

  clientOf(user: string, options: ClientOptions = {}, origin = this.service.origin): Coffer {
    return new Coffer(origin, { auth: basic(user, `secret of ${user}`), maxPauseMs: 20, ...options });
  }

  /** Creates a list of its own for a test. */
  async newList(data: Record<string, unknown> = {}): Promise<Records<Stored>> {
    const id = newName();
    await this.client.bucket('b').collections.put(id, data);
    return this.client.bucket('b').collection<Stored>(id);
  }

  /** Creates a database with one collection. */
  async open<D = Todo>({
    name = newName(),
    storage = newStorage(),
    schema = todoSchema,
    conflictHandler,
    multiInstance = false,
    hashFunction,
  }: DatabaseOptions = {}): Promise<RxCollection<D>> {
    const hash = hashFunction && { hashFunction };
    const database = await createRxDatabase({ name, storage, multiInstance, ignoreDuplicate: true, ...hash });
    this.#open.push(database);
    const { docs } = await database.addCollections({
      docs: { schema: schema as never, ...(conflictHandler && { conflictHandler: conflictHandler as never }) },
    });
    return docs as never;
  }

  /** Starts a replication in both directions. */
  replicate<D = Todo>(
    collection: RxCollection<D>,
    list: Pick<ObjectList<any, any>, 'path'>,
    options: Partial<CofferReplicationOptions<D>> = {},
  ): Replication<D> {
    return replicateCoffer<D>({
      collection,
      client: this.client,
      list,
      replicationIdentifier: `coffer${list.path}`,
      retryTime: 20,
      pull: {},
      push: {},
      ...options,
    });
  }

  /** Replicates once, in both directions. */
  async once<D = Todo>(
    collection: RxCollection<D>,
    list: Pick<ObjectList<any, any>, 'path'>,
    options: Partial<CofferReplicationOptions<D>> = {},
  ): Promise<void> {
    const state = this.replicate(collection, list, { live: false, ...options });
    const errors: unknown[] = [];
    state.error$.subscribe((error) => errors.push(error));
    await state.awaitInitialReplication();
    await until(() => state.isStopped());
    if (errors.length > 0) throw new Error('the replication has reported errors', { cause: errors[0] });
  }

  /** Closes the databases of a test. */
  async closeDatabases(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((database) => database.close()));
  }

  async close(): Promise<void> {
    await this.closeDatabases();
    await this.service.close().catch(() => undefined);
  }
}

/** Waits until a condition holds. The limit is that of the test. */
export async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await setTimeout(5);
}

/** Returns a `fetch` whose first PUT does not arrive before `release`, and then fails if an error is given. */
export function holdingFetch(): { fetch: typeof fetch; held: Promise<void>; release: (error?: Error) => void } {
  let release!: (error?: Error) => void;
  let begin!: () => void;
  const held = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const released = new Promise<Error | undefined>((resolve) => {
    release = resolve;
  });
  let isFirst = true;
  const send: typeof fetch = async (url, init) => {
    if (init?.method === 'PUT' && isFirst) {
      isFirst = false;
      begin();
      const error = await released;
      if (error !== undefined) throw error;
    }
    return fetch(url, init);
  };
  return { fetch: send, held, release };
}

/** Returns the documents of a collection by primary key. */
export async function contentOf<D>(collection: RxCollection<D>): Promise<Record<string, D>> {
  const documents = await collection.find().exec();
  return Object.fromEntries(documents.map((document) => [document.primary, document.toJSON() as D]));
}

/** Returns the records of a list by id, without timestamps. */
export async function recordsOf(list: ObjectList<Stored>): Promise<Record<string, Stored>> {
  const { data } = await list.list().all();
  return Object.fromEntries(
    data.map((record) => {
      const { last_modified: _, ...rest } = record;
      return [rest.id, rest];
    }),
  );
}

/** Waits until the collection and the list have the same content. */
export async function converged(collection: RxCollection, list: ObjectList<Stored>): Promise<void> {
  await until(async () => {
    const sorted = (content: object): string =>
      JSON.stringify(
        Object.entries(content)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([, value]) => Object.entries(value as object).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      );
    return sorted(await contentOf(collection)) === sorted(await recordsOf(list));
  });
}

/** Returns the errors that a replication reports, as the list grows. */
export function errorsOf(
  state: Replication<any>,
): { code: string; status?: number | undefined; errno?: number | undefined }[] {
  const errors: { code: string; status?: number | undefined; errno?: number | undefined }[] = [];
  state.error$.subscribe((error) => {
    const { code, parameters } = error as unknown as {
      code: string;
      parameters: { errors?: { extensions?: { status?: number; errno?: number } }[] };
    };
    const { status, errno } = parameters?.errors?.[0]?.extensions ?? {};
    errors.push({ code, status, errno });
  });
  return errors;
}
