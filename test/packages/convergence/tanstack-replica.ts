// A collection of TanStack DB with an outbox.
import { NonRetriableError, startOfflineExecutor } from '@tanstack/offline-transactions';
import { createCollection } from '@tanstack/db';
import { createSQLiteCorePersistenceAdapter, persistedCollectionOptions } from '@tanstack/db-sqlite-persistence-core';
import {
  cofferCollectionOptions,
  cofferMutationFn,
  type CofferCollectionConfig,
} from '../../../packages/tanstack-db/src/index.ts';
import { memoryDriver } from '../tanstack-db/persisted.ts';
import type { Items } from '../tanstack-db/support.ts';
import { decide, type Content, type Field, type Item, type Replica, type Setting } from './replica.ts';

type Row = Item & { last_modified?: number };

export class TanstackReplica implements Replica {
  readonly #setting: Setting;
  /** Storage of the outbox, which outlives it. */
  #stored = new Map<string, string>();
  readonly #database = memoryDriver();
  readonly #listeners = new Set<() => void>();
  #rows!: Items;
  #outbox!: ReturnType<typeof startOfflineExecutor>;

  private constructor(setting: Setting) {
    this.#setting = setting;
  }

  static async open(setting: Setting): Promise<TanstackReplica> {
    const replica = new TanstackReplica(setting);
    await replica.#open();
    return replica;
  }

  async set(id: string, field: Field, value: number): Promise<boolean> {
    if (!this.#rows.isReady()) return false;
    const before = this.#rows.get(id);
    const done = this.#change(() => {
      if (before === undefined) this.#rows.insert({ id, a: 0, b: 0, [field]: value } as never);
      else this.#rows.update(id, (draft) => void ((draft as Record<string, unknown>)[field] = value));
    });
    const { strategy, confirmed, refused } = this.#setting;
    done.then(
      // With other strategies, the mutation of a lost conflict is settled too.
      () => strategy === 'client' && confirmed({ ...zero, id, [field]: value }),
      (error: unknown) => String(error).includes('ConflictError') && refused(value),
    );
    return true;
  }

  async remove(id: string): Promise<boolean> {
    const exists = this.#rows.isReady() && this.#rows.has(id);
    if (exists) void this.#change(() => this.#rows.delete(id));
    return exists;
  }

  async online(isOnline: boolean): Promise<void> {
    this.#setting.network.isOnline = isOnline;
    if (isOnline) this.#notify();
  }

  async restart(): Promise<void> {
    await this.close();
    await this.#open();
  }

  async settle(): Promise<boolean> {
    if (this.#stored.size > 0) this.#notify();
    if (this.#rows.utils.status() !== 'live') this.#rows.utils.retry();
    return this.#stored.size === 0;
  }

  async content(): Promise<Content> {
    return new Map(
      [...this.#rows.entries()].map(([id, row]) => {
        const { a, b, last_modified } = row as unknown as Row;
        return [id, { id, a, b, ...(last_modified === undefined ? {} : { last_modified }) }];
      }),
    );
  }

  async close(): Promise<void> {
    this.#outbox.dispose();
    // Its transaction under way continues, which that of a closed page does not. So it keeps a storage that the next one does not share.
    this.#stored = new Map(this.#stored);
    await this.#rows.cleanup();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #change(mutate: () => void): Promise<unknown> {
    const transaction = this.#outbox.createOfflineTransaction({ mutationFnName: 'coffer', autoCommit: false });
    transaction.mutate(mutate);
    const done = transaction.commit();
    done.catch(() => undefined);
    return done;
  }

  async #open(): Promise<void> {
    const { name, client, list, strategy, network } = this.#setting;
    const onConflict: CofferCollectionConfig<Row>['onConflict'] =
      strategy !== 'manual' ? strategy : async ({ local, server }) => decide(local ?? server ?? zero);
    const options = { id: name, client, list, startSync: true, onConflict, confirmTimeoutMs: 1000 };
    const persistence = { adapter: createSQLiteCorePersistenceAdapter({ driver: this.#database }) };
    this.#rows = createCollection(
      persistedCollectionOptions({
        ...cofferCollectionOptions<Row>(options),
        persistence,
        schemaVersion: 1,
      } as never) as never,
    ) as never;
    this.#listeners.clear();
    const stored = this.#stored;
    this.#outbox = startOfflineExecutor({
      collections: { items: this.#rows as never },
      mutationFns: { coffer: cofferMutationFn({ NonRetriableError }) } as never,
      storage: {
        get: async (key) => stored.get(key) ?? null,
        set: async (key, value) => void stored.set(key, value),
        delete: async (key) => void stored.delete(key),
        keys: async () => [...stored.keys()],
        clear: async () => stored.clear(),
      },
      onlineDetector: {
        isOnline: () => network.isOnline,
        subscribe: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
        notifyOnline: () => this.#notify(),
        dispose: () => this.#listeners.clear(),
      },
      leaderElection: {
        requestLeadership: async () => true,
        releaseLeadership: () => undefined,
        isLeader: () => true,
        onLeadershipChange: () => () => undefined,
      },
    });
    await this.#outbox.waitForInit();
  }
}

const zero = { id: '', a: 0, b: 0 };
