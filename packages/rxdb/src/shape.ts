// Records of the service as documents of the collection, and the other way round.
import type { Stored } from '@coffer/client';
import type { AnyCollection, AnyConflictHandler, Fields } from './any.ts';
import { defaultIds } from './ids.ts';
import type { CofferReplicationOptions, IdMapping } from './options.ts';

/** A record, as the service returns it. */
export type RecordData = Stored<Readonly<Record<string, unknown>>>;

/** A document, as the replication of RxDB passes it. */
export type Document = Readonly<Record<string, unknown>> & { readonly _deleted: boolean };

type Modifier = (data: Fields) => unknown;

/** Members of documents that RxDB adds. */
const internal = new Set(['_deleted', '_attachments', '_meta', '_rev']);

export class Shape {
  readonly #primary: string;
  readonly #properties: ReadonlySet<string>;
  readonly #ids: IdMapping;
  readonly #toLocal: Modifier | undefined;
  readonly #toService: Modifier | undefined;
  readonly #isEqual: AnyConflictHandler['isEqual'];

  constructor({ collection, ids = defaultIds, pull, push }: CofferReplicationOptions<Fields>) {
    const { schema, conflictHandler } = collection as AnyCollection;
    this.#primary = schema.primaryPath;
    this.#properties = new Set(Object.keys(schema.jsonSchema.properties).filter((name) => !internal.has(name)));
    this.#ids = ids;
    this.#toLocal = pull?.modifier as Modifier | undefined;
    this.#toService = push?.modifier as Modifier | undefined;
    this.#isEqual = (a, b, context) => conflictHandler.isEqual(a, b, context);
  }

  /** Returns the primary key of a document. */
  keyOf(document: Readonly<Record<string, unknown>>): string {
    return document[this.#primary] as string;
  }

  /** Returns the id of the record for a primary key. */
  idOf(key: string): string {
    return this.#ids.encode(key);
  }

  /** Returns the primary key for the id of a record. */
  keyFor(id: string): string {
    return this.#ids.decode(id);
  }

  /** Returns the document for a record: with the attributes that the schema of the collection names. */
  async toDocument(record: RecordData): Promise<Document> {
    const { id, ...attributes } = record;
    const given = { ...attributes, [this.#primary]: this.keyFor(id), _deleted: false };
    const document = this.#toLocal === undefined ? given : ((await this.#toLocal(given)) as Record<string, unknown>);
    return { ...this.#select(document), [this.#primary]: this.keyFor(id), _deleted: document['_deleted'] === true };
  }

  /** Returns a document that is deleted, with the attributes of another state of it, because validators require them. */
  toDeleted(document: Readonly<Record<string, unknown>>): Document {
    return { ...this.#select(document), _deleted: true };
  }

  /**
   * Returns the attributes to send for a document; `null` if the modifier withholds it.
   *
   * @param existing the record to replace. Its attributes that the collection does not know are kept.
   */
  async toAttributes(document: Document, existing?: RecordData | null): Promise<Record<string, unknown> | null> {
    const own = await this.#attributesOf(document);
    if (own === null || !existing) return own;
    const replaced = (await this.#attributesOf(await this.toDocument(existing))) ?? {};
    const { id: _, last_modified: __, ...attributes } = existing;
    const kept = Object.entries(attributes).filter(
      ([name]) => !Object.hasOwn(replaced, name) && !this.#properties.has(name),
    );
    return { ...Object.fromEntries(kept), ...own };
  }

  /** Returns whether two states of a document are equal for the conflict handler, whenever they were written. */
  isEqual(a: Document, b: Document): boolean {
    if (a._deleted || b._deleted) return a._deleted === b._deleted;
    return this.#isEqual(comparable(a), comparable(b), 'replication-coffer-push');
  }

  /** Returns whether the collection, which has stored a state, has this state of the document. */
  hasState(stored: Readonly<Record<string, unknown>>, state: Document): boolean {
    return this.isEqual(this.stateOf(stored), this.stateOf(state));
  }

  /** Returns the state of a document, without what RxDB adds to it. */
  stateOf(stored: Readonly<Record<string, unknown>>): Document {
    return { ...this.#select(stored), _deleted: stored['_deleted'] === true };
  }

  async #attributesOf(document: Document): Promise<Record<string, unknown> | null> {
    const modified = this.#toService === undefined ? document : await this.#toService({ ...document });
    if (modified === null) return null;
    return Object.fromEntries(
      Object.entries(modified as object).filter(
        ([name]) => name !== this.#primary && name !== 'last_modified' && !internal.has(name),
      ),
    );
  }

  #select(document: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(document).filter(([name]) => this.#properties.has(name)));
  }
}

/** Returns a document as JSON, without members that differ between equal states. */
function comparable(document: Document): Document {
  const { last_modified: _, _meta: __, _rev: ___, _attachments: ____, ...rest } = document;
  return JSON.parse(
    JSON.stringify(rest, (_name, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
  ) as Document;
}
