// A collection of kinto.js, unmodified. It has six faults that an application must work around, as this one does. The code
// that they come from is in `lib/collection.js` of kinto 17.1.1. A seventh one has no effect on records that always have the
// same attributes: attributes that others have removed remain (`{ ...local, ...markSynced(remote) }` in `importChange`).
import 'fake-indexeddb/auto';
import { indexedDB } from 'fake-indexeddb';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type kinto from 'kinto';
import { decide, type Content, type Field, type Item, type Replica, type Setting } from './replica.ts';

const { default: Kinto } = createRequire(import.meta.url)('kinto') as typeof kinto;

/** A record as kinto.js stores it. */
type Local = Item & {
  readonly last_modified?: number;
  readonly deleted?: boolean;
  readonly _status: 'synced' | 'created' | 'updated' | 'deleted';
};

interface Conflict {
  readonly local: Local;
  readonly remote: Local | null;
}

const statusOf = ({ _status: status }: Local): Local['_status'] => status;

export class KintoReplica implements Replica {
  readonly #setting: Setting;
  #records: ReturnType<InstanceType<typeof Kinto>['collection']>;

  private constructor(setting: Setting) {
    this.#setting = setting;
    this.#records = this.#open();
  }

  /**
   * Opens the copy, and synchronises it before the first edit: only a synchronisation without conflicts stores its timestamp
   * (`if (result.ok)` in `sync`). Until then, the complete list is read each time, which has no deletions. Records that came
   * with an earlier one and were deleted since then would remain.
   */
  static async open(setting: Setting): Promise<KintoReplica> {
    const replica = new KintoReplica(setting);
    await replica.settle();
    return replica;
  }

  async set(id: string, field: Field, value: number): Promise<boolean> {
    const { data } = (await this.#records.getAny(id)) as unknown as { readonly data?: Local };
    const { a, b, last_modified } = { a: 0, b: 0, last_modified: undefined, ...data };
    // A record that is deleted here begins anew, with the timestamp that its deletion would be based on.
    const before = data === undefined || statusOf(data) === 'deleted' ? { a: 0, b: 0 } : { a, b };
    const known = last_modified === undefined ? {} : { last_modified };
    await this.#records.upsert({ id, ...known, ...before, [field]: value });
    return true;
  }

  async remove(id: string): Promise<boolean> {
    const { data } = (await this.#records.getAny(id)) as unknown as { readonly data?: Local };
    if (data === undefined || statusOf(data) === 'deleted') return false;
    // A deleted record that was never sent stays in the store: `pushChanges` sends deletions `if (r.last_modified)` alone.
    // From then on, `importChange` ignores all changes of that record (`local._status === "deleted"`: skipped).
    await this.#records.delete(id, { virtual: data.last_modified !== undefined });
    return true;
  }

  async online(isOnline: boolean): Promise<void> {
    this.#setting.network.isOnline = isOnline;
  }

  async restart(): Promise<void> {
    await this.#close();
    this.#records = this.#open();
  }

  async settle(): Promise<boolean> {
    if (!this.#setting.network.isOnline) return false;
    // No other client writes meanwhile: the last request of a synchronisation leaves out the records that were just sent
    // (`exclude_id` in `pullChanges`), but its timestamp counts for them too. Changes of others to them would be missed.
    return this.#setting.turns.alone(() => this.#synchronise());
  }

  async content(): Promise<Content> {
    const { data } = (await this.#records.list()) as unknown as { readonly data: readonly Local[] };
    return new Map(data.map(({ id, a, b, last_modified }) => [id, { id, a, b, last_modified: last_modified! }]));
  }

  async close(): Promise<void> {
    await this.#close();
    indexedDB.deleteDatabase(this.#setting.name);
  }

  async #close(): Promise<void> {
    await (this.#records.db as unknown as { close(): Promise<void> }).close();
  }

  async #synchronise(): Promise<boolean> {
    const { strategy, confirmed } = this.#setting;
    try {
      const result = await this.#records.sync({
        strategy: strategy === 'server' ? 'server_wins' : strategy === 'client' ? 'client_wins' : 'manual',
      });
      for (const published of result.published as unknown as Local[])
        if (published.deleted !== true) confirmed(published);
      for (const conflict of result.conflicts as unknown as Conflict[]) await this.#resolve(conflict);
      return result.ok;
    } catch {
      return false;
    } finally {
      await this.#removeTombstones();
    }
  }

  async #resolve(conflict: Conflict): Promise<void> {
    const { local, remote } = conflict;
    // Deletions always win. Otherwise `_resolveRaw` gives the record the timestamp of the tombstone, and sends it: the record
    // is stored as of that time, and clients that have followed the list since then never see it.
    if (remote === null || remote.deleted === true) await this.#records.delete(local.id, { virtual: false });
    else await this.#records.resolve(conflict as never, decide(local) === 'client' ? local : remote);
  }

  /** `_handleConflicts` stores the tombstone that has won a conflict as a record, with the attribute `deleted`. */
  async #removeTombstones(): Promise<void> {
    const { data } = (await this.#records.list()) as unknown as { readonly data: readonly Local[] };
    for (const { id, deleted } of data) {
      if (deleted === true) await this.#records.delete(id, { virtual: false });
    }
  }

  #open(): ReturnType<InstanceType<typeof Kinto>['collection']> {
    const { name, remote, authorization } = this.#setting;
    const store = new Kinto({
      bucket: name,
      remote,
      headers: { Authorization: authorization },
      events: new EventEmitter(),
      adapterOptions: { dbName: name },
    });
    return store.collection('items', { idSchema: { generate: () => 'unused', validate: () => true } });
  }
}
