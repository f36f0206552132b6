// One list: its items, and the outbox that keeps edits until the service has them.
import { cofferMutationFn } from '@coffer/tanstack-db';
import {
  NonRetriableError,
  startOfflineExecutor,
  type OfflineExecutor,
  type StorageAdapter,
} from '@tanstack/offline-transactions';
import { bucket, mergeAs, type Todo } from './model.ts';
import { OneTab } from './one-tab.ts';
import type { Rows, Store } from './store.ts';

export class TodoList {
  readonly id: string;
  readonly todos: Rows<Todo>;
  readonly #store: Store;
  readonly #outbox: OfflineExecutor;
  #isClosed = false;

  constructor(id: string, store: Store, storage: StorageAdapter) {
    const { client, name } = store.session;
    this.id = id;
    this.#store = store;
    this.todos = store.keptRows<Todo>({
      id,
      list: client.bucket(bucket).collection(id),
      onConflict: mergeAs(name),
    });
    this.#outbox = startOfflineExecutor({
      collections: { [id]: this.todos },
      mutationFns: {
        send: cofferMutationFn({ NonRetriableError, onRefused: (error) => store.report(error) }) as never,
      },
      storage,
      leaderElection: new OneTab(`outbox of ${name}: ${id}`),
    });
  }

  add(title: string): void {
    this.#edit(() => {
      this.todos.insert({ id: crypto.randomUUID(), title, done: false, added: new Date().toISOString() });
    });
  }

  setDone(id: string, done: boolean): void {
    this.#edit(() => {
      this.todos.update(id, (todo) => {
        todo.done = done;
      });
    });
  }

  /** Sets the title. It also ends a conflict of titles. */
  rename(id: string, title: string): void {
    this.#edit(() => {
      this.todos.update(id, (todo) => {
        todo.title = title;
        delete todo.otherTitles;
      });
    });
  }

  remove(id: string): void {
    this.#edit(() => {
      this.todos.delete(id);
    });
  }

  /** Returns the number of edits in the outbox. */
  async unsent(): Promise<number> {
    return (await this.#outbox.peekOutbox()).length;
  }

  /** Stops following the list and sending edits. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#outbox.clearOutbox();
    this.#outbox.dispose();
    await this.todos.cleanup();
  }

  /** Shows a change at once, keeps it in the outbox, and sends it when there is a connection. */
  #edit(change: () => void): void {
    const transaction = this.#outbox.createOfflineTransaction({ mutationFnName: 'send', autoCommit: false });
    transaction.mutate(change);
    transaction.commit().catch((error: unknown) => {
      // The outbox has reported what the service refuses. In other tabs than its own, edits need a connection.
      if (this.#isClosed || error instanceof NonRetriableError) return;
      this.#store.report(new Error('Not saved: without a connection, one tab keeps edits, and another tab does that.'));
    });
  }
}
