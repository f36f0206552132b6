// What this browser keeps for one user, in IndexedDB: rows with the position in the changes of their list, and edits that the
// service does not have yet. All tabs share it.
import type { PersistedTx, PersistenceAdapter } from '@tanstack/db-sqlite-persistence-core';
import type { StorageAdapter } from '@tanstack/offline-transactions';

type Store = 'rows' | 'metadata' | 'outbox';

interface StoredRow {
  readonly collection: string;
  readonly key: string | number;
  readonly value: Record<string, unknown>;
  readonly metadata?: unknown;
}

interface StoredMetadata {
  readonly collection: string;
  readonly key: string;
  readonly value: unknown;
}

/** Metadata in which the adapter keeps the position of the rows in the changes of the list. */
const cursorKey = 'coffer:cursor';

interface Position {
  readonly source: string;
  readonly cursor: string;
}

export class LocalDatabase {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
    // Another tab deletes the database when the user signs out there.
    database.addEventListener('versionchange', () => database.close());
  }

  static async open(user: string): Promise<LocalDatabase> {
    const request = indexedDB.open(nameOf(user), 1);
    request.addEventListener('upgradeneeded', () => {
      // Keys begin with the id of the collection.
      for (const store of ['rows', 'metadata', 'outbox'] satisfies Store[]) {
        request.result.createObjectStore(store, { keyPath: ['collection', 'key'] });
      }
    });
    return new LocalDatabase(await resultOf(request));
  }

  /** Closes the database in all tabs, and removes it. */
  async delete(): Promise<void> {
    const { name } = this.#database;
    this.#database.close();
    await resultOf(indexedDB.deleteDatabase(name));
  }

  /** Removes everything of a collection. */
  async erase(collection: string): Promise<void> {
    const stores: Store[] = ['rows', 'metadata', 'outbox'];
    await this.#write(stores, (transaction) => {
      for (const store of stores) transaction.objectStore(store).delete(allOf(collection));
    });
  }

  /** Keeps the rows of persisted collections. */
  readonly rows: PersistenceAdapter = {
    loadSubset: (collection) => this.#all<StoredRow>('rows', collection),
    scanRows: (collection) => this.#all('rows', collection) as never,
    loadCollectionMetadata: (collection) => this.#all<StoredMetadata>('metadata', collection),
    applyCommittedTx: (collection, changes) =>
      this.#write(['rows', 'metadata'], (transaction) => applyChanges(transaction, collection, changes)),
    // Collections are loaded as a whole.
    ensureIndex: () => Promise.resolve(),
  };

  /** Keeps the outbox of a collection. */
  outboxOf(collection: string): StorageAdapter {
    const change = (work: (store: IDBObjectStore) => unknown): Promise<void> =>
      this.#write(['outbox'], (transaction) => void work(transaction.objectStore('outbox')));
    return {
      get: async (key) => {
        const request = this.#store('outbox').get([collection, key]) as IDBRequest<{ value: string } | undefined>;
        return (await resultOf(request))?.value ?? null;
      },
      set: (key, value) => change((store) => store.put({ collection, key, value })),
      delete: (key) => change((store) => store.delete([collection, key])),
      keys: async () => (await this.#all<{ key: string }>('outbox', collection)).map(({ key }) => key),
      clear: () => change((store) => store.delete(allOf(collection))),
    };
  }

  #store(name: Store): IDBObjectStore {
    return this.#database.transaction(name).objectStore(name);
  }

  #all<T>(store: Store, collection: string): Promise<T[]> {
    return resultOf(this.#store(store).getAll(allOf(collection)) as IDBRequest<T[]>);
  }

  async #write(stores: Store[], work: (transaction: IDBTransaction) => void | Promise<void>): Promise<void> {
    const transaction = this.#database.transaction(stores, 'readwrite');
    const completed = new Promise<void>((resolve, reject) => {
      transaction.addEventListener('complete', () => resolve());
      transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('The write was aborted.')));
    });
    await Promise.all([work(transaction), completed]);
  }
}

/** Applies what a collection has received. */
async function applyChanges(transaction: IDBTransaction, collection: string, changes: PersistedTx): Promise<void> {
  const rows = transaction.objectStore('rows');
  const metadata = transaction.objectStore('metadata');
  const { truncate = false, mutations, rowMetadataMutations = [], collectionMetadataMutations = [] } = changes;
  const stored = await resultOf(metadata.get([collection, cursorKey]) as IDBRequest<StoredMetadata | undefined>);
  const next = collectionMetadataMutations.find(({ key }) => key === cursorKey);
  // Another tab may be ahead. Its rows must not be replaced by older ones.
  if (!truncate && next?.type === 'set' && isReached(stored?.value as Position | undefined, next.value as Position))
    return;

  if (truncate) rows.delete(allOf(collection));
  const metadataOf = new Map(
    rowMetadataMutations.map((each) => [each.key, each.type === 'set' ? each.value : undefined]),
  );
  // Edits that the stream has not confirmed yet come without a position, so a row may be later than the position says.
  const isFirst = truncate || stored === undefined;
  const timestamps = isFirst ? new Map<unknown, number>() : await timestampsOf(rows, collection, mutations);
  for (const mutation of mutations) {
    const { type, key, value } = mutation;
    const rowMetadata = metadataOf.get(key);
    if (type === 'delete') rows.delete([collection, key]);
    else if ((timestamps.get(key) ?? 0) <= timestampOf(rowMetadata)) {
      rows.put({ collection, key, value, metadata: rowMetadata } satisfies StoredRow);
    }
  }
  for (const each of collectionMetadataMutations) {
    const { key } = each;
    if (each.type === 'delete') metadata.delete([collection, key]);
    else metadata.put({ collection, key, value: each.value } satisfies StoredMetadata);
  }
}

/** Returns the timestamps of the stored rows that mutations would replace, by key. */
async function timestampsOf(
  rows: IDBObjectStore,
  collection: string,
  mutations: PersistedTx['mutations'],
): Promise<ReadonlyMap<unknown, number>> {
  const keys = mutations.filter(({ type }) => type !== 'delete').map(({ key }) => key);
  // Together: a transaction ends while nothing is requested, and one at a time takes three times as long.
  const found = keys.map((key) => resultOf(rows.get([collection, key]) as IDBRequest<StoredRow | undefined>));
  return new Map((await Promise.all(found)).map((row, index) => [keys[index], timestampOf(row?.metadata)]));
}

function timestampOf(metadata: unknown): number {
  return (metadata as { last_modified?: number } | undefined)?.last_modified ?? 0;
}

function isReached(stored: Position | undefined, next: Position): boolean {
  return stored?.source === next.source && Number(stored.cursor) >= Number(next.cursor);
}

const nameOf = (user: string): string => `todo ${user}`;

/** All keys of a collection. An array is greater than any text. */
const allOf = (collection: string): IDBKeyRange => IDBKeyRange.bound([collection], [collection, []]);

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('IndexedDB failed.')));
  });
}
