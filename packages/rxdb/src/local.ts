// What the collection has stored: states of documents, and which of them the service has had.
import { getAssumedMasterState, getMetaWriteRow, stripAttachmentsDataFromMetaWriteRows } from 'rxdb';
import type { RxReplicationState } from 'rxdb/plugins/replication';
import type { AnyCollection, Fields } from './any.ts';
import type { CofferCheckpoint } from './options.ts';
import type { Document } from './shape.ts';

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

  /** Returns the states that the service is known to have, by primary key. */
  async knownStates(keys: readonly string[]): Promise<Map<string, Stored>> {
    const states = await getAssumedMasterState(this.#state().internalReplicationState!, [...keys]);
    return new Map(Object.entries(states).map(([key, { docData }]) => [key, docData as Stored]));
  }

  /**
   * Stores states as those that the service has. RxDB does it when all documents of a push were written, and ignores what it
   * receives for them until then.
   */
  async setKnown(documents: readonly Document[]): Promise<void> {
    const replication = this.#state().internalReplicationState!;
    if (documents.length === 0 || replication.events.canceled.getValue()) return;
    const keyOf = (document: Document): string => String(document[replication.primaryPath]);
    const states = await getAssumedMasterState(replication, documents.map(keyOf));
    const rows = documents.map((document) =>
      getMetaWriteRow(replication, document as never, states[keyOf(document)]?.metaDocument),
    );
    const stored = stripAttachmentsDataFromMetaWriteRows(replication, await Promise.all(rows));
    await replication.input.metaInstance.bulkWrite(stored, 'coffer-pushed');
  }

  /**
   * Returns the primary keys of documents that were pulled or pushed, without those that were only written here. With pull
   * alone, RxDB does not store the difference: the collection is a copy of the list, and all documents count as pulled.
   */
  async known(): Promise<string[]> {
    const documents = (await this.#collection.find().exec()) as readonly { readonly primary: string }[];
    const keys = documents.map((document) => document.primary);
    if (this.#state().push === undefined) return keys;
    const states = await this.knownStates(keys);
    return keys.filter((key) => states.has(key) && states.get(key)!['_deleted'] !== true);
  }
}
