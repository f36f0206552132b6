// A collection of RxDB that is replicated.
import { createRxDatabase, type RxCollection } from 'rxdb';
import { getRxStorageMemory } from 'rxdb/plugins/storage-memory';
import { wrappedValidateAjvStorage } from 'rxdb/plugins/validate-ajv';
import { replicateCoffer } from '../../../packages/rxdb/src/index.ts';
import { decide, type Content, type Field, type Item, type Replica, type Setting, type Strategy } from './replica.ts';

type Version = Item & { readonly _deleted: boolean };
interface Conflict {
  readonly newDocumentState: Version;
  readonly assumedMasterState?: Version;
  readonly realMasterState: Version;
}

const schema = {
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: { id: { type: 'string', maxLength: 20 }, a: { type: 'number' }, b: { type: 'number' } },
  required: ['id', 'a', 'b'],
} as const;

const isEqual = (one: Version, other: Version): boolean =>
  one._deleted === other._deleted && one.a === other.a && one.b === other.b;

/** Handlers of conflicts; that of RxDB keeps the state of the server. */
const handlers: Partial<Record<Strategy, (conflict: Conflict) => Version | Promise<Version>>> = {
  client: ({ newDocumentState }) => newDocumentState,
  merge: ({ newDocumentState: mine, assumedMasterState: base, realMasterState: theirs }) => {
    if (mine._deleted || theirs._deleted) return theirs;
    const pick = (field: Field): number => (mine[field] === base?.[field] ? theirs[field] : mine[field]);
    // Without a base, the first value is no edit.
    return { ...theirs, a: base || mine.a > 0 ? pick('a') : theirs.a, b: base || mine.b > 0 ? pick('b') : theirs.b };
  },
  manual: async ({ newDocumentState: mine, realMasterState: theirs }) => (decide(mine) === 'client' ? mine : theirs),
};

export class RxdbReplica implements Replica {
  readonly #setting: Setting;
  /** With checks of schemas, which RxDB requires where another test of the process has turned its dev mode on. */
  readonly #storage = wrappedValidateAjvStorage({ storage: getRxStorageMemory() });
  #collection!: RxCollection<Item>;
  #state!: ReturnType<typeof replicateCoffer<Item>>;

  private constructor(setting: Setting) {
    this.#setting = setting;
  }

  static async open(setting: Setting): Promise<RxdbReplica> {
    const replica = new RxdbReplica(setting);
    await replica.#open();
    return replica;
  }

  async set(id: string, field: Field, value: number): Promise<boolean> {
    const document = await this.#collection.findOne(id).exec();
    if (document === null) await this.#collection.incrementalUpsert({ id, a: 0, b: 0, [field]: value });
    else await document.incrementalPatch({ [field]: value });
    return true;
  }

  async remove(id: string): Promise<boolean> {
    const document = await this.#collection.findOne(id).exec();
    await document?.incrementalRemove();
    return document !== null;
  }

  async online(isOnline: boolean): Promise<void> {
    if (!this.#setting.isPaused) this.#setting.network.isOnline = isOnline;
    else if (isOnline) await this.#state.start();
    else await this.#state.pause();
  }

  async restart(): Promise<void> {
    await this.close();
    await this.#open();
  }

  async settle(): Promise<boolean> {
    await this.#state.awaitInSync();
    return true;
  }

  async content(): Promise<Content> {
    const documents = await this.#collection.find().exec();
    return new Map(documents.map((document) => [document.id, document.toJSON() as Item]));
  }

  async close(): Promise<void> {
    await this.#collection.database.close();
  }

  async #open(): Promise<void> {
    const { name, strategy, client, list, confirmed } = this.#setting;
    const database = await createRxDatabase({ name, storage: this.#storage, multiInstance: false });
    const resolve = handlers[strategy];
    const conflicts = resolve === undefined ? {} : { conflictHandler: { isEqual, resolve } as never };
    const { items } = await database.addCollections({ items: { schema, ...conflicts } });
    this.#collection = items as never;
    this.#state = replicateCoffer<Item>({
      collection: this.#collection,
      client,
      list,
      replicationIdentifier: 'items',
      retryTime: 20,
      pull: { batchSize: 3 },
      push: { batchSize: 3 },
    });
    this.#state.sent$.subscribe((sent) => {
      if (!sent._deleted) confirmed(sent);
    });
  }
}
