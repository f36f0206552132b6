// Reads the changes of the list since a checkpoint, page by page, the oldest first.
import type { Change, ChangesOptions, Listing, ObjectList } from '@coffer/client';
import type { ReplicationPullHandlerResult } from 'rxdb';
import type { ChangeReader } from './changes.ts';
import { isFailure } from './failures.ts';
import type { CofferCheckpoint } from './options.ts';
import type { Document } from './shape.ts';

type Result = ReplicationPullHandlerResult<Document, CofferCheckpoint>;

/** Documents of one call of RxDB. */
export interface Pulled extends Result {
  readonly checkpoint: CofferCheckpoint;
  /** Whether the list has no more changes. */
  readonly isComplete: boolean;
}

export class Puller {
  readonly #list: ObjectList<object>;
  readonly #changes: ChangeReader;
  readonly #options: Pick<ChangesOptions<object>, 'filter' | 'signal'>;

  constructor(
    list: ObjectList<object>,
    changes: ChangeReader,
    options: Pick<ChangesOptions<object>, 'filter' | 'signal'>,
  ) {
    this.#list = list;
    this.#changes = changes;
    this.#options = options;
  }

  /**
   * Reads at least `batchSize` documents, or all that remain. When the service no longer knows all deletions since the
   * checkpoint, reads the list from the beginning, and removes the documents that it does not contain.
   */
  async pull({ since }: CofferCheckpoint, batchSize: number): Promise<Pulled> {
    const found = await this.#read(since, batchSize);
    if (found !== undefined) return found;
    const missing = await this.#findMissing();
    const { documents, ...rest } = (await this.#read('0', batchSize))!;
    return { ...rest, documents: [...missing, ...documents] };
  }

  /** Returns `undefined` if deletions are missing. */
  async #read(since: string, batchSize: number): Promise<Pulled | undefined> {
    const { filter } = this.#options;
    const listing: Listing<Change<object>> = this.#list.changes({
      ...this.#options,
      since,
      sort: ['last_modified'],
      limit: batchSize,
      gone: filter !== undefined,
    });
    const documents: Document[] = [];
    let page;
    try {
      page = await listing.page();
    } catch (error) {
      if (isFailure(error) && error.status === 410 && error.errno === 107) return undefined;
      throw error;
    }
    const { etag } = page;
    // A list that is older than the checkpoint comes from a backup.
    if (Number(etag) < Number(since)) return undefined;
    let last = Number(since);
    for (;;) {
      if (page.resync !== undefined && since !== '0') return undefined;
      documents.push(...(await this.#changes.read(page.data)));
      last = page.data.at(-1)?.last_modified ?? last;
      const { next } = page;
      // All that had changed at the time of the first page was read.
      if (next === undefined) last = Math.max(last, Number(etag));
      if (next === undefined || documents.length >= batchSize) {
        return { documents, checkpoint: { since: String(last) }, isComplete: next === undefined };
      }
      page = await listing.page(next);
    }
  }

  /** Returns deletions of the documents that the list does not contain. */
  async #findMissing(): Promise<Document[]> {
    this.#changes.forget();
    const keys = new Set<string>();
    // In this order, a record that changes meanwhile moves to the end.
    const listing = this.#list.list({ ...this.#options, sort: ['last_modified'], fields: ['id'] });
    for await (const { data } of listing) for (const { id } of data) keys.add(this.#changes.keyFor(id));
    return this.#changes.removeOthers(keys, 0);
  }
}
