// Everything that a user sees: the lists, who shares them, and the items of each list. It is a copy in this browser, which
// follows the service while there is a connection.
import { cofferCollectionOptions, type CofferCollectionConfig, type CofferUtils } from '@coffer/tanstack-db';
import { createCollection, type Collection } from '@tanstack/db';
import { persistedCollectionOptions } from '@tanstack/db-sqlite-persistence-core';
import { LocalDatabase } from './local-database.ts';
import { bucket, type Group, type List } from './model.ts';
import { principalOf, type Session } from './session.ts';
import { TodoList } from './todo-list.ts';

/** A collection of TanStack DB whose rows are kept in this browser. */
export type Rows<T extends { readonly id: string }> = Collection<T, string, CofferUtils>;

export interface StoreOptions {
  readonly session: Session;
  /** Called with errors that the user should know about. */
  readonly report: (error: unknown) => void;
}

export class Store {
  readonly session: Session;
  readonly lists: Rows<List>;
  readonly groups: Rows<Group>;
  readonly report: StoreOptions['report'];
  readonly #database: LocalDatabase;
  readonly #open = new Map<string, TodoList>();

  static async open(options: StoreOptions): Promise<Store> {
    return new Store(options, await LocalDatabase.open(options.session.name));
  }

  private constructor({ session, report }: StoreOptions, database: LocalDatabase) {
    this.session = session;
    this.report = report;
    this.#database = database;
    const { collections, groups } = session.client.bucket(bucket);
    this.lists = this.keptRows<List>({ id: 'lists', list: collections });
    this.groups = this.keptRows<Group>({ id: 'groups', list: groups });
    this.lists.subscribeChanges(() => this.#follow(), { includeInitialState: true });
  }

  /** Returns the items of a list. Absent if the list does not exist, or is not shared with this user any more. */
  listOf(id: string): TodoList | undefined {
    return this.#open.get(id);
  }

  /** Creates a list with its group, in one transaction. Needs a connection. */
  async createList(title: string): Promise<string> {
    const id = crypto.randomUUID();
    const group = `/buckets/${bucket}/groups/${id}`;
    const results = await this.session.client.batch((root) => [
      // Members see each other, and the creator decides who they are.
      root.bucket(bucket).groups.create({ id, members: [] }, { permissions: { read: [group] } }),
      root.bucket(bucket).collections.create({ id, title }, { permissions: { write: [group] } }),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    const created = results[1].status === 'fulfilled' ? results[1].value.last_modified : 0;
    await this.lists.utils.awaitTimestamp(created);
    return id;
  }

  /** Deletes a list with its items and its group. Needs a connection. */
  async deleteList(id: string): Promise<void> {
    const [list] = await this.session.client.batch((root) => [
      root.bucket(bucket).collections.delete(id),
      root.bucket(bucket).groups.delete(id),
    ]);
    if (list.status === 'rejected') throw list.reason;
  }

  /** Shares a list with a user. Needs a connection. */
  async share(id: string, name: string): Promise<void> {
    const change = this.groups.update(id, (group) => {
      if (!group.members.includes(principalOf(name))) group.members.push(principalOf(name));
    });
    await change.when('settled');
  }

  /** Ends the sharing of a list with a member. Needs a connection. */
  async unshare(id: string, principal: string): Promise<void> {
    const change = this.groups.update(id, (group) => {
      group.members = group.members.filter((member) => member !== principal);
    });
    await change.when('settled');
  }

  /** Returns the number of edits that the service does not have yet. */
  async unsent(): Promise<number> {
    const counts = await Promise.all([...this.#open.values()].map((list) => list.unsent()));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Removes everything of this user from the browser, with edits that were not sent. */
  async erase(): Promise<void> {
    await Promise.all([...this.#open.values()].map((list) => list.close()));
    await Promise.all([this.lists.cleanup(), this.groups.cleanup()]);
    await this.#database.delete();
  }

  /** Creates a collection whose rows are kept in this browser. */
  keptRows<T extends { readonly id: string }>(options: Omit<CofferCollectionConfig<T>, 'client'>): Rows<T> {
    const config = cofferCollectionOptions<T>({ client: this.session.client, startSync: true, ...options } as never);
    const persistence = { adapter: this.#database.rows };
    // The package for persistence has the types of an older version of TanStack DB.
    return createCollection(
      persistedCollectionOptions({ ...(config as object), persistence, schemaVersion: 1 } as never) as never,
    ) as unknown as Rows<T>;
  }

  /** Opens and closes lists, so that all that this user may read are open, and no others. */
  #follow(): void {
    for (const { id } of this.lists.values()) {
      if (!this.#open.has(id)) this.#open.set(id, new TodoList(id, this, this.#database.outboxOf(id)));
    }
    // Without a current copy of the lists, it is not known which of them this user may still read.
    if (this.lists.utils.status() !== 'live') return;
    for (const [id, list] of this.#open) {
      if (this.lists.has(id)) continue;
      this.#open.delete(id);
      // Access was revoked: no data remains in this browser.
      this.#remove(list).catch(this.report);
    }
  }

  async #remove(list: TodoList): Promise<void> {
    const unsent = await list.unsent();
    await list.close();
    await this.#database.erase(list.id);
    if (unsent > 0) this.report(new Error(`A list is not shared any more: ${unsent} edits of it were not saved.`));
  }
}
