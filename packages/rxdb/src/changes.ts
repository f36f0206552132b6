// Changes of the list as documents for RxDB.
import { isRemoval, type Change } from '@coffer/client';
import { isReserved } from './ids.ts';
import type { LateStates } from './late.ts';
import type { LocalDocuments } from './local.ts';
import { RecentRecords } from './recent.ts';
import type { Document, RecordData, Shape } from './shape.ts';
import type { PushesUnderWay } from './under-way.ts';

export class ChangeReader {
  readonly #shape: Shape;
  readonly #recent: RecentRecords;
  /** States before deletions. RxDB may store one that it received before, after a later pull with the deletion. */
  readonly #removed = new RecentRecords();
  readonly #late: LateStates;
  readonly #local: LocalDocuments;
  readonly #pushes: PushesUnderWay;
  readonly #report: (error: Error) => void;

  /** @param report called for records that are left out */
  constructor(
    shape: Shape,
    recent: RecentRecords,
    late: LateStates,
    local: LocalDocuments,
    pushes: PushesUnderWay,
    report: (error: Error) => void,
  ) {
    this.#shape = shape;
    this.#recent = recent;
    this.#late = late;
    this.#local = local;
    this.#pushes = pushes;
    this.#report = report;
  }

  /**
   * Returns the documents for changes. Left out are deletions of documents that the collection never had, and states that a
   * push has replaced since then, such as echoes of own writes.
   */
  async read(all: readonly Change<object>[]): Promise<Document[]> {
    await this.#pushes.end(all.map(({ id }) => this.#shape.keyFor(id)));
    const changes = all.filter(({ id, last_modified }) => {
      const key = this.#shape.keyFor(id);
      if (!isReserved(key)) return !this.#late.isLate(key, last_modified);
      this.#report(new Error(`The record "${id}" is left out: RxDB cannot have its primary key "${key}"`));
      return false;
    });
    const removed = changes.filter((change) => isRemoval(change)).map(({ id }) => this.#shape.keyFor(id));
    const deleted = new Map((await this.remove(removed)).map((document) => [this.#shape.keyOf(document), document]));
    const documents: Document[] = [];
    for (const change of changes) {
      if (isRemoval(change)) {
        const document = deleted.get(this.#shape.keyFor(change.id));
        if (document !== undefined) documents.push(this.#late.mark(document, change.last_modified));
      } else {
        const record = change as RecordData;
        this.#recent.set(record.id, record);
        documents.push(this.#late.mark(await this.#shape.toDocument(record), record.last_modified));
      }
    }
    return documents;
  }

  /** Returns deleted documents for primary keys. They have the attributes of the last known state. */
  async remove(keys: readonly string[]): Promise<Document[]> {
    const stored = await this.#local.find(keys);
    const documents: Document[] = [];
    for (const key of keys) {
      const id = this.#shape.idOf(key);
      // RxDB may still be storing it.
      const recent = this.#recent.get(id) ?? this.#removed.get(id);
      const state = stored.get(key) ?? (recent && (await this.#shape.toDocument(recent)));
      if (state !== undefined) documents.push(this.#shape.toDeleted(state));
      if (recent !== undefined) this.#removed.set(id, recent);
      this.#recent.delete(id);
    }
    return documents;
  }

  /**
   * Returns the documents that the service no longer has.
   *
   * @param keys primary keys of the documents that it has
   * @param since documents that were stored there after this timestamp are kept
   */
  async removeOthers(keys: ReadonlySet<string>, since: number): Promise<Document[]> {
    const known = await this.#local.known();
    const isNewer = (key: string): boolean =>
      (this.#recent.get(this.#shape.idOf(key))?.last_modified ?? Number.NEGATIVE_INFINITY) > since;
    const missing = await this.remove(known.filter((key) => !keys.has(key) && !isNewer(key)));
    return missing.map((document) => this.#late.mark(document, since));
  }

  /** Returns the primary key for the id of a record. */
  keyFor(id: string): string {
    return this.#shape.keyFor(id);
  }

  /** Forgets what the service has returned, because it may have lost it. */
  forget(): void {
    this.#recent.clear();
    this.#late.clear();
  }
}
