// Reads of committed objects and lists, of which those are remembered that most requests ask for.
import type { Page } from '../../contracts/storage.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import { continueRange, isTimestampField, splitTimestampRange } from '../../core/query/timestamp-range.ts';
import type { CommittedAccess } from './access.ts';
import type { Connection } from './connection.ts';
import { findList, type StoredListRow } from './lists.ts';
import type { Memory } from './memory.ts';
import { readCount, readObject, readPage, SqliteStorageReader } from './storage-reader.ts';
import type { Steps } from '../../base/steps.ts';

export class CommittedStorageReader extends SqliteStorageReader {
  protected override readonly access: CommittedAccess;

  constructor(access: CommittedAccess) {
    super(access);
    this.access = access;
  }

  override get(list: ListKey, id: string): Promise<StoredObject | undefined> {
    return this.access.run((connection, memory) => memory.object(list, id, () => readObject(connection, list, id)));
  }

  override listAll(list: ListKey, query: PageQuery): Promise<Page> {
    return this.access.read((connection, memory) => recallPage(connection, memory, list, query));
  }

  override countAll(list: ListKey, selection: Selection): Promise<number> {
    return this.access.read((connection, memory) =>
      readCount(connection, recallList(connection, memory, list), selection),
    );
  }

  override resourceTimestamp(list: ListKey): Promise<number | undefined> {
    return this.access.run((connection, memory) => recallList(connection, memory, list)?.clock);
  }
}

function recallList(connection: Connection, memory: Memory | undefined, list: ListKey): StoredListRow | undefined {
  const read = (): StoredListRow | undefined => findList(connection, list);
  return memory === undefined ? read() : memory.listRow(list, read);
}

function* recallPage(connection: Connection, memory: Memory | undefined, list: ListKey, query: PageQuery): Steps<Page> {
  const row = recallList(connection, memory, list);
  const part = memory === undefined || row === undefined ? undefined : partOf(query);
  if (memory === undefined || row === undefined || part === undefined) return yield* readPage(connection, row, query);
  const known = memory.page(list, part, row);
  if (known !== undefined)
    return { timestamp: row.clock, horizon: row.horizon, entries: known.entries, more: known.more };
  // A read that yields is begun anew without memory, so this line is reached in the snapshot of the row.
  const page = yield* readPage(connection, row, query);
  memory.keepPage(list, part, { row, entries: page.entries, more: page.more });
  return page;
}

/** A name for what the query asks for, where many may ask for the same: a stretch of the list in the order of time. */
function partOf({ filters, ids, sort, after, limit, includeDeleted = false }: PageQuery): string | undefined {
  const [first] = sort;
  if (ids !== undefined || first === undefined || !isTimestampField(first.field)) return undefined;
  const { range, rest } = splitTimestampRange(filters);
  if (rest.length > 0) return undefined;
  const { direction } = first;
  const { low, high } = (after === undefined ? range : continueRange(range, direction, after)) ?? {};
  if (low === undefined) return undefined;
  return `${direction} ${low} ${high} ${limit} ${includeDeleted}`;
}
