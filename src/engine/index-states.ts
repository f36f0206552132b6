// The states of the declared indexes of a list, kept in the storage: which of them are complete, and how far the work on the
// others is. Writes maintain declared indexes at once; the work gives keys to the objects that are older.
import type { ListIndex } from '../core/query/ast.ts';
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import type { StorageReader, StorageWriter } from '../contracts/storage.ts';
import { nameOf } from '../core/index/definition.ts';
import { formatAttributes, StoredObject, type ListKey } from '../core/objects/stored.ts';
import { isJsonArray } from '../core/query/compare.ts';
import { walk } from './walk.ts';

/**
 * `building`: some objects have no keys yet, `ready`: all have them, `failed`: two objects of a unique index have the same
 * values, `removing`: the index is no longer declared, and some objects have its keys.
 */
export type IndexStatus = 'building' | 'ready' | 'failed' | 'removing';

const statuses: readonly IndexStatus[] = ['building', 'ready', 'failed', 'removing'];

export interface IndexState {
  /** Fields as declared: `status,-date`. */
  readonly name: string;
  readonly isUnique: boolean;
  readonly slot: number;
  /** First bytes of the keys, in hexadecimal. */
  readonly prefix: string;
  readonly status: IndexStatus;
  /** Ids of two objects with the same values, of a `failed` index. */
  readonly duplicates: readonly string[];
  /** When a query last used it, to the hour, in milliseconds since 1970 UTC; 0: never. */
  readonly lastUsed: number;
}

/** The work on the indexes of a list that are not complete: a walk over its objects by timestamp. */
export interface IndexWork {
  /** Objects up to this timestamp are done. */
  readonly cursor: number;
  /** Timestamp of the last object to do. Later writes have stored keys. */
  readonly until: number;
  readonly done: number;
  /** Number of objects of the list when the work began. */
  readonly total: number;
}

export interface IndexStates {
  readonly indexes: readonly IndexState[];
  /** Absent when all indexes are complete or have failed. */
  readonly work: IndexWork | undefined;
}

const noStates: IndexStates = { indexes: [], work: undefined };

/** The kind of lists of states. Its objects are named after the kind of the indexed list, below the same parent. */
export const stateKind = 'index';

/** Returns the list that holds the states of a list. */
export function stateList({ parent }: ListKey): ListKey {
  return { kind: stateKind, parent };
}

/** Reads the states of the indexes of a list. */
export async function readStates(storage: StorageReader, list: ListKey): Promise<IndexStates> {
  const stored = await storage.get(stateList(list), list.kind);
  return stored === undefined ? noStates : parseStates(stored.attributes);
}

/** Yields all lists with states. */
export async function* walkStates(
  reader: StorageReader,
): AsyncGenerator<{ readonly list: ListKey; readonly states: IndexStates }> {
  for (const parent of await reader.listParents(stateKind)) {
    for await (const page of walk(reader, { kind: stateKind, parent }, { filters: [] }, undefined)) {
      for (const entry of page) {
        if (!(entry instanceof StoredObject)) continue;
        yield { list: { kind: entry.id, parent }, states: parseStates(entry.attributes) };
      }
    }
  }
}

/** Locks the states of a list, and reads them. */
export async function lockStates(storage: StorageWriter, list: ListKey): Promise<IndexStates> {
  const { object } = await storage.lock(stateList(list), list.kind);
  return object === undefined ? noStates : parseStates(object.attributes);
}

/** Stores the states. */
export async function writeStates(
  storage: StorageWriter,
  list: ListKey,
  { indexes, work }: IndexStates,
): Promise<void> {
  if (indexes.length === 0) {
    await storage.delete(stateList(list), list.kind, { keepTombstone: false });
    return;
  }
  const attributes = {
    indexes: indexes.map((state) => ({ ...state })),
    ...(work === undefined ? {} : { work: { ...work } }),
  };
  await storage.update(stateList(list), list.kind, formatAttributes(attributes));
}

function parseStates(attributes: JsonObject): IndexStates {
  const indexes = getKey(attributes, 'indexes') ?? null;
  const work = getKey(attributes, 'work');
  return {
    indexes: isJsonArray(indexes) ? indexes.filter(isJsonObject).map(parseState) : [],
    work: isJsonObject(work)
      ? {
          cursor: countOf(work['cursor']),
          until: countOf(work['until']),
          done: countOf(work['done']),
          total: countOf(work['total']),
        }
      : undefined,
  };
}

function parseState(state: JsonObject): IndexState {
  const { name, prefix, status, duplicates = [] } = state;
  return {
    name: textOf(name),
    isUnique: state['isUnique'] === true,
    slot: countOf(state['slot']),
    prefix: textOf(prefix),
    status: statuses.find((each) => each === status) ?? 'building',
    duplicates: isJsonArray(duplicates) ? duplicates.map(textOf) : [],
    lastUsed: countOf(state['lastUsed']),
  };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function countOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns the state of an index; `undefined` when it has none. */
export function stateOf(states: IndexStates, { slot, prefix }: ListIndex): IndexState | undefined {
  const hex = prefix.toString('hex');
  return states.indexes.find((state) => state.slot === slot && state.prefix === hex);
}

/**
 * Brings the states in line with what is declared now. The caller has locked the list, so no write that knows another
 * declaration is under way.
 */
export async function declareIndexes(
  storage: StorageWriter,
  list: ListKey,
  declared: readonly ListIndex[],
): Promise<IndexStates> {
  const before = await lockStates(storage, list);
  const { timestamp: until = 0 } = await storage.lock(list);
  const total = await storage.countAll(list, { filters: [] });
  const states = declared.map((index): IndexState => {
    const known = stateOf(before, index);
    if (known !== undefined && known.status !== 'removing') return known;
    const prefix = index.prefix.toString('hex');
    const status = total === 0 ? 'ready' : 'building';
    const { isUnique, slot } = index;
    return { name: nameOf(index), isUnique, slot, prefix, status, duplicates: [], lastUsed: 0 };
  });
  const isKept = ({ slot, prefix }: IndexState): boolean =>
    states.some((state) => state.slot === slot && state.prefix === prefix);
  const gone = total === 0 ? [] : before.indexes.filter((state) => !isKept(state));
  const indexes = [...states, ...gone.map((state): IndexState => ({ ...state, status: 'removing' }))];
  const isChanged = JSON.stringify(indexes) !== JSON.stringify(before.indexes);
  if (!isChanged) return before;
  // Writers that have read an earlier declaration run again.
  await storage.touch(list);
  const hasWork = indexes.some(({ status }) => status === 'building' || status === 'removing');
  const after = { indexes, work: hasWork ? { cursor: 0, until, done: 0, total } : undefined };
  await writeStates(storage, list, after);
  return after;
}
