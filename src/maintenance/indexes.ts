// Declared indexes from the command line, and in stores that are filled by a copy.
import type { StorageBackend } from '../contracts/storage.ts';
import { silentLogger } from '../contracts/logger.ts';
import { storedUri } from '../core/objects/uris.ts';
import { IndexBuilder, type IndexedKind } from '../engine/index-builder.ts';
import { indexOfState, openReport, type IndexReport } from '../engine/index-report.ts';
import { declareIndexes, readStates, stateList, walkStates, type IndexState } from '../engine/index-states.ts';
import { indexesOf } from '../engine/list-indexes.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import { walk } from '../engine/walk.ts';
import { recordsOf } from '../resources/collection-indexes.ts';
import type { Settings } from '../settings/settings.ts';
import { StoredObject, type ListKey } from '../core/objects/stored.ts';
import { inUnit, withBackends } from './units.ts';

/** The indexes of one list. */
export interface ListedIndexes {
  readonly list: ListKey;
  readonly indexes: readonly (Omit<IndexState, 'lastUsed'> & IndexReport)[];
}

/** Returns the indexes of all lists, with what is known of them. */
export function listIndexes(settings: Settings): Promise<readonly ListedIndexes[]> {
  return withBackends(settings, async ({ storage }) => {
    const found: ListedIndexes[] = [];
    for await (const { list, states } of walkStates(storage.reader)) {
      const { indexes, work } = states;
      const report = await openReport(storage.reader, list);
      found.push({
        list,
        indexes: indexes.map((state) => ({ ...state, ...report(indexOfState(state), state, work) })),
      });
    }
    return found;
  });
}

const kinds = new Map<string, IndexedKind>([['record', { indexes: 'parent', parent: { name: 'collection' } }]]);

/** Called with the numbers of objects done, and to do. */
type OnProgress = (done: number, total: number) => void;

/** Completes the indexes of all collections. */
export function buildIndexes(settings: Settings, onProgress: OnProgress): Promise<void> {
  return withBackends(settings, (stores) => completeIndexes(stores, onProgress));
}

async function completeIndexes(stores: Stores, onProgress: OnProgress): Promise<void> {
  const builder = new IndexBuilder({ stores, kinds, logger: silentLogger });
  let before = 0;
  for await (const { list } of walkStates(stores.storage.reader)) {
    if (list.kind !== 'record') continue;
    const { done: begun = 0, total = 0 } = (await readStates(stores.storage.reader, list)).work ?? {};
    const done = before;
    await builder.completeList(list, (objects) => {
      onProgress(done + Math.min(total, begun + objects), done + total);
    });
    before += total;
    onProgress(before, before);
  }
}

/** Forgets the states of all indexes, before objects are stored without keys. */
export async function forgetIndexes(storage: StorageBackend): Promise<void> {
  for await (const { list } of walkStates(storage.reader)) {
    await inUnit(storage.database, async (transaction) => {
      await storage.writer(transaction).delete(stateList(list), list.kind, { keepTombstone: false });
    });
  }
}

/** Declares the indexes of all collections again, and builds them. A service builds those of other kinds. */
export async function rebuildIndexes(stores: Stores, onProgress: OnProgress = () => {}): Promise<void> {
  await renewIndexes(stores.storage);
  await completeIndexes(stores, onProgress);
}

/** Declares the indexes of all collections again, without keys. */
export async function renewIndexes(storage: StorageBackend): Promise<void> {
  await forgetIndexes(storage);
  for (const parent of await storage.reader.listParents('collection')) {
    for await (const collections of walk(storage.reader, { kind: 'collection', parent }, { filters: [] }, undefined)) {
      for (const collection of collections) {
        const declared = collection instanceof StoredObject ? indexesOf(collection) : [];
        if (declared.length === 0) continue;
        await inUnit(storage.database, async (transaction) => {
          await declareIndexes(
            storage.writer(transaction),
            recordsOf(storedUri(`${parent}/collections/${collection.id}`)),
            declared,
          );
        });
      }
    }
  }
}
