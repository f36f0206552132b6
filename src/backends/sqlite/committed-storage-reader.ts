// Reads of committed objects and lists, of which those are remembered that most requests ask for.
import type { Page, PageText } from '../../contracts/storage.ts';
import { joinPage } from '../../core/objects/page-text.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { timeRangeKey } from '../../core/query/time-range-key.ts';
import type { CommittedAccess } from './access.ts';
import type { Connection } from './connection.ts';
import { findList, type StoredListRow } from './lists.ts';
import type { ReadCache } from './read-cache.ts';
import { readCount, readObject, readPage, readShortObject, SqliteStorageReader } from './storage-reader.ts';
import { pause, type Steps } from '../../base/steps.ts';

/** Texts of objects up to this size are read as soon as they are asked for. */
const mostBytesAtOnce = 262_144;

export class CommittedStorageReader extends SqliteStorageReader {
  protected override readonly access: CommittedAccess;

  constructor(access: CommittedAccess) {
    super(access);
    this.access = access;
  }

  override get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.access.run((connection, cache) => {
      const seen = { isLong: false };
      const object = cache.object(list, id, () => {
        const read = readShortObject(connection, list, id, mostBytesAtOnce);
        if (read !== 'long') return read;
        seen.isLong = true;
        return undefined;
      });
      return seen.isLong ? this.#getLong(list, id) : object;
    });
  }

  /**
   * Reads a long text in a turn of the event loop of its own. What the request does with it begins before the next one is
   * read, so that of many requests at once all but one wait for memory without a text.
   */
  async #getLong(list: ListKey, id: string): Promise<StoredObject | undefined> {
    await pause('normal');
    return this.access.run((connection, cache) => cache.object(list, id, () => readObject(connection, list, id)));
  }

  override listAll(list: ListKey, query: PageQuery): Promise<Page> {
    return this.access.read((connection, cache) => readPage(connection, recallList(connection, cache, list), query));
  }

  override listText(list: ListKey, query: PageQuery): Promise<PageText> {
    return this.access.read((connection, cache) => recallText(connection, cache, list, query));
  }

  override countAll(list: ListKey, selection: Selection): Promise<number> {
    return this.access.read((connection, cache) =>
      readCount(connection, recallList(connection, cache, list), selection),
    );
  }

  override resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.access.run((connection, cache) => recallList(connection, cache, list)?.clock);
  }
}

function recallList(connection: Connection, cache: ReadCache | undefined, list: ListKey): StoredListRow | undefined {
  const read = (): StoredListRow | undefined => findList(connection, list);
  return cache === undefined ? read() : cache.listRow(list, read);
}

function* recallText(
  connection: Connection,
  cache: ReadCache | undefined,
  list: ListKey,
  query: PageQuery,
): Steps<PageText> {
  const row = recallList(connection, cache, list);
  const stretch = cache === undefined || row === undefined ? undefined : timeRangeKey(query);
  if (cache === undefined || row === undefined || stretch === undefined) {
    return joinPage(yield* readPage(connection, row, query), query.maxBytes);
  }
  const known = cache.page(list, stretch, row);
  if (known !== undefined) return known;
  // A read that yields is begun anew without memory, so this line is reached in the snapshot of the row.
  const page = joinPage(yield* readPage(connection, row, query), query.maxBytes);
  cache.keepPage(list, stretch, { row, page });
  return page;
}
