// What the collection has stored: states of documents, and which of them the service has had.
import { getAssumedMasterState } from 'rxdb';
import type { RxReplicationState } from 'rxdb/plugins/replication';
import type { AnyCollection, Fields } from './any.ts';
import type { CofferCheckpoint } from './options.ts';

/** A replication of documents with any schema. */
export type AnyReplication = RxReplicationState<Fields, CofferCheckpoint>;

type Stored = Readonly<Record<string, unknown>>;

export class LocalDocuments {
  readonly #collection: AnyCollection;
  readonly #state: () => AnyReplication;

  constructor(collection: AnyCollection, state: () => AnyReplication) {
    this.#collection = collection;
    this.#state = state;
  }

  /** Returns stored states by primary key, also of deleted documents. */
  async find(keys: readonly string[]): Promise<Map<string, Stored>> {
    if (keys.length === 0) return new Map();
    const { storageInstance, schema } = this.#collection;
    const found = (await storageInstance.findDocumentsById([...keys], true)) as Stored[];
    return new Map(found.map((document) => [document[schema.primaryPath] as string, document]));
  }

  /**
   * Returns the primary keys of documents that were pulled or pushed, without those that were only written here. With pull
   * alone, RxDB does not store the difference: the collection is a copy of the list, and all documents count as pulled.
   */
  async known(): Promise<string[]> {
    const documents = (await this.#collection.find().exec()) as readonly { readonly primary: string }[];
    const keys = documents.map((document) => document.primary);
    const { internalReplicationState, push } = this.#state();
    if (push === undefined) return keys;
    const states = await getAssumedMasterState(internalReplicationState!, keys);
    return keys.filter((key) => states[key] !== undefined && !(states[key].docData as { _deleted?: boolean })._deleted);
  }
}
