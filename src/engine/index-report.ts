// What is reported of the declared indexes of a list: progress of the build, and an estimate of the size.
import type { StorageReader } from '../contracts/storage.ts';
import { keysOf, parseIndexes } from '../core/index/definition.ts';
import { StoredObject, type ListKey } from '../core/objects/stored.ts';
import type { ListIndex } from '../core/query/ast.ts';
import { newestFirst } from '../core/query/sort.ts';
import type { IndexState, IndexStates } from './index-states.ts';

/** Number of objects whose keys are measured for an estimate. */
const measuredObjects = 100;
const measuredBytes = 100_000;

export interface IndexReport {
  /** Objects that the build has passed, and all objects. */
  readonly done: number;
  readonly total: number;
  /** Estimated size of the keys. */
  readonly sizeBytes: number;
  /** When a query last used it, in milliseconds since 1970 UTC; `null`: never. */
  readonly lastUsed: number | null;
}

/** Reads what reports on the indexes of a list need. */
export async function openReport(
  storage: StorageReader,
  list: ListKey,
): Promise<(index: ListIndex | undefined, state: IndexState | undefined, work: IndexStates['work']) => IndexReport> {
  const live = await storage.countAll(list, { filters: [] });
  const { entries } = await storage.listAll(list, {
    filters: [],
    sort: newestFirst,
    limit: measuredObjects,
    maxBytes: measuredBytes,
  });
  const objects = entries.filter((entry) => entry instanceof StoredObject);
  return (index, state, work) => {
    const bytes = index === undefined ? 0 : bytesOfKeys(index, objects);
    const isComplete = state !== undefined && state.status !== 'building';
    return {
      done: isComplete ? live : (work?.done ?? 0),
      total: isComplete ? live : (work?.total ?? live),
      sizeBytes: objects.length === 0 ? 0 : Math.round((bytes / objects.length) * live),
      lastUsed: state === undefined || state.lastUsed === 0 ? null : state.lastUsed,
    };
  };
}

function bytesOfKeys(index: ListIndex, objects: readonly StoredObject[]): number {
  return objects.reduce((sum, { attributes }) => sum + (keysOf([index], attributes)[index.slot]?.length ?? 0), 0);
}

/** Returns the index of a state; `undefined` for a name that no index has. */
export function indexOfState({ name, isUnique }: IndexState): ListIndex | undefined {
  const text = /^text\((.*)\)$/.exec(name)?.[1];
  const declaration = text === undefined ? { fields: name.split(','), unique: isUnique } : { text: text.split(',') };
  return parseIndexes([declaration])?.[0];
}
