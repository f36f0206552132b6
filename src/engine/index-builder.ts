// Gives keys to the objects that were stored before their indexes were declared, a few at a time, while requests go on. Lists
// take turns, so that no list waits until others are complete.
import { setTimeout as wait } from 'node:timers/promises';
import { storedParent } from '../core/objects/uris.ts';
import type { ListIndex } from '../core/query/ast.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { Pace } from '../base/pacing.ts';
import { pause, runFromNow } from '../base/steps.ts';
import type { Logger } from '../contracts/logger.ts';
import type { KeyedObject, StorageReader, StorageWriter } from '../contracts/storage.ts';
import { keysInSteps, keysOf } from '../core/index/definition.ts';
import { keyOfList, type ListName } from '../core/lists/list-key.ts';
import { StoredObject, type ListKey } from '../core/objects/stored.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import {
  declareIndexes,
  lockStates,
  readStates,
  stateOf,
  walkStates,
  writeStates,
  type IndexState,
} from './index-states.ts';
import type { CompiledKind } from './compiled-kind.ts';
import { CompleteLists } from './complete-lists.ts';
import { declaredIndexes, findHolder, indexesOf } from './list-indexes.ts';
import { runInUnit } from './retry.ts';
import type { Indexing } from './scope.ts';
import type { Stores } from './unit-of-work.ts';

/** The use of an index is recorded once in this time. */
const useMs = 3_600_000;
const maxUses = 10_000;

/** Objects, and bytes of their texts, that one unit of work gives keys. */
const objectsPerUnit = 100;
const bytesPerUnit = 1_000_000;

/** Characters of objects whose keys are made in one step: to split them into words takes milliseconds. */
const charsPerStep = 20_000;

/** Pause after a failure, which doubles with each further one up to a limit. */
const firstRetryMs = 1000;
const longestRetryMs = 30_000;

/** Shortest pause between two searches for work that no process continues, and the longest share of the time that they take. */
const defaultSearchMs = 30_000;
const searchShare = 0.02;

/** A kind, as far as its indexes matter. */
export interface IndexedKind extends Pick<CompiledKind, 'indexes'> {
  readonly parent: Pick<CompiledKind, 'name'> | undefined;
}

export interface IndexBuilderOptions {
  readonly stores: Stores;
  readonly logger: Logger;
  readonly kinds: ReadonlyMap<string, IndexedKind>;
  /** Shortest pause between two searches for work of processes that have gone. */
  readonly searchMs?: number;
}

/** Work on a list for a party, which waits for its own work and for a share of that of others. */
interface Task {
  readonly list: ListKey;
  readonly party: string;
}

export class IndexBuilder implements Indexing {
  readonly #options: IndexBuilderOptions;
  /** Lists that wait for their next unit of work. */
  readonly #queue = new FairQueue<Task>();
  /** These lists, and those that wait for the end of a pause after a failure. */
  readonly #waiting = new Map<ListName, Task>();
  /** Numbers of failures in a row. */
  readonly #failures = new Map<ListName, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Cursors of the work on lists at the last search; absent before the first. */
  #cursors: ReadonlyMap<ListName, number> | undefined;
  #searching: Promise<void> | undefined;
  #failedSearches = 0;
  /** When indexes were last used, by list and prefix, at most once in `useMs`. */
  readonly #uses = new Map<string, number>();
  readonly complete = new CompleteLists();
  readonly #pace = new Pace();
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: IndexBuilderOptions) {
    this.#options = options;
  }

  /** Continues, in the background, what other processes have begun and left, now and whenever they leave more. */
  start(): void {
    if (!this.#options.stores.storage.database.abilities.durable) return;
    this.#searching = this.#search();
  }

  async #search(): Promise<void> {
    const { logger, searchMs = defaultSearchMs } = this.#options;
    const startedAt = performance.now();
    let pauseMs: number;
    try {
      await this.#findLeft();
      this.#failedSearches = 0;
      pauseMs = Math.max(searchMs, (performance.now() - startedAt) / searchShare);
    } catch (error) {
      pauseMs = retryMs(this.#failedSearches++);
      logger.warn({ err: error, retryMs: pauseMs }, 'The work on indexes that other processes have left was not found');
    }
    this.#later(pauseMs, () => {
      this.#searching = this.#search();
    });
  }

  /** Adds lists whose work stands still, and at the first search all with work. */
  async #findLeft(): Promise<void> {
    const { stores, kinds } = this.#options;
    const { reader } = stores.storage;
    const before = this.#cursors;
    const cursors = new Map<ListName, number>();
    for await (const { list, states } of walkStates(reader)) {
      if (this.#isStopped) return;
      const { work, indexes } = states;
      const name = keyOfList(list);
      if (work !== undefined) cursors.set(name, work.cursor);
      const declared = kinds.get(list.kind)?.indexes ?? [];
      const isOutdated = declared !== 'parent' && declared.length !== indexes.length;
      const isLeft =
        before === undefined
          ? work !== undefined || isOutdated
          : work !== undefined && before.get(name) === work.cursor;
      if (isLeft) this.wake(list);
      await pause('normal');
    }
    if (before === undefined) await this.#findUndeclared();
    this.#cursors = cursors;
  }

  /** Adds lists that have objects, and for which a new version of a plugin declares indexes. */
  async #findUndeclared(): Promise<void> {
    const { stores, kinds } = this.#options;
    const { reader } = stores.storage;
    for (const [kind, { indexes }] of kinds) {
      if (indexes === 'parent' || indexes.length === 0) continue;
      for (const parent of await reader.listParents(kind)) {
        const list = { kind, parent };
        const states = await readStates(reader, list);
        if (indexes.some((index) => stateOf(states, index) === undefined)) this.wake(list);
      }
    }
  }

  /** Does something after a time, unless the builder stops before. */
  #later(ms: number, work: () => void): void {
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }

  /**
   * Looks after the indexes of a list in the background.
   *
   * @param party whose work it is, as in a `FairQueue`; default: that of the bucket
   */
  wake(list: ListKey, party?: string): void {
    this.complete.forget(list);
    this.#add({ list, party: party ?? bucketOf(list) });
    this.#running ??= this.#run();
  }

  #add(task: Task): void {
    const name = keyOfList(task.list);
    if (this.#waiting.has(name)) return;
    this.#waiting.set(name, task);
    this.#queue.push(task.party, task);
  }

  /** Adds a list again after a pause, in which nothing else adds it. */
  #addLater(task: Task, pauseMs: number): void {
    const name = keyOfList(task.list);
    const queued = this.#waiting.get(name);
    if (queued !== undefined) this.#queue.remove(queued.party, queued);
    this.#waiting.set(name, task);
    this.#later(pauseMs, () => {
      this.#waiting.delete(name);
      this.wake(task.list, task.party);
    });
  }

  used(list: ListKey, indexes: readonly ListIndex[], now: number): void {
    for (const { prefix } of indexes) {
      const key = `${keyOfList(list)} ${prefix.toString('hex')}`;
      if ((this.#uses.get(key) ?? 0) > now - useMs) continue;
      if (this.#uses.size >= maxUses) this.#uses.clear();
      this.#uses.set(key, now);
      this.wake(list);
    }
  }

  /** Resolves when no list waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Stops after the present unit of work. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([this.#searching, this.#running]);
  }

  async #run(): Promise<void> {
    await pause('normal');
    while (!this.#isStopped) {
      const task = this.#queue.shift();
      if (task === undefined) break;
      this.#waiting.delete(keyOfList(task.list));
      const startedAt = performance.now();
      const hasMore = await this.#tryToContinue(task);
      if (hasMore) this.#add(task);
      this.#queue.charge(task.party, performance.now() - startedAt);
      if (hasMore) await wait(this.#pace.pauseMs);
    }
    this.#running = undefined;
  }

  /**
   * Completes the indexes of a list.
   *
   * @param onProgress is called with the number of objects done
   */
  async completeList(list: ListKey, onProgress?: (done: number) => void): Promise<void> {
    for (let done = 0; !this.#isStopped; done += objectsPerUnit) {
      onProgress?.(done);
      if (!(await this.#continue(list))) return;
      await wait(this.#pace.pauseMs);
    }
  }

  /** Does one unit of work; returns whether more is left. */
  async #continue(list: ListKey): Promise<boolean> {
    const { stores, logger } = this.#options;
    const askedAt = performance.now();
    let startedAt = askedAt;
    const hasMore = await runInUnit(stores, logger, async (unit) => {
      const { storage } = await unit.writer();
      startedAt = performance.now();
      // Writers that went first are load of others, and not work of the build.
      this.#pace.resume(startedAt - askedAt);
      return this.#doSome(list, storage);
    });
    this.#pace.pause(performance.now() - startedAt);
    return hasMore;
  }

  /** Does one unit of work, and again later if it fails; returns whether more is left to do now. */
  async #tryToContinue(task: Task): Promise<boolean> {
    const { list } = task;
    const name = keyOfList(list);
    try {
      const hasMore = await this.#continue(list);
      this.#failures.delete(name);
      return hasMore;
    } catch (error) {
      const failures = this.#failures.get(name) ?? 0;
      this.#failures.set(name, failures + 1);
      const pauseMs = retryMs(failures);
      this.#options.logger.warn({ err: error, list, retryMs: pauseMs }, 'The work on the indexes of a list has failed');
      this.#addLater(task, pauseMs);
      return false;
    }
  }

  /** Gives keys to the next objects; returns whether more are left. */
  async #doSome(list: ListKey, storage: StorageWriter): Promise<boolean> {
    // Under this lock the declaration stays as it is.
    await lockStates(storage, list);
    const declared = await this.#declared(list, storage);
    const states = await declareIndexes(storage, list, declared);
    const { work } = states;
    const indexes = states.indexes.map((state) => this.#withUse(list, state));
    if (work === undefined) {
      const isNews = indexes.some(({ lastUsed }, number) => lastUsed !== states.indexes[number]?.lastUsed);
      if (isNews) await writeStates(storage, list, { indexes, work });
      return false;
    }
    const { entries, more } = await storage.listAll(list, {
      filters: [
        { field: lastModifiedField, operator: 'gt', value: work.cursor },
        { field: lastModifiedField, operator: 'max', value: work.until },
      ],
      sort: [{ field: lastModifiedField, direction: 'ascending' }],
      limit: objectsPerUnit,
      maxBytes: bytesPerUnit,
    });
    const objects = entries.filter((entry) => entry instanceof StoredObject);
    const keyed: KeyedObject[] = [];
    let chars = 0;
    for (const object of objects) {
      const attributes = await runFromNow(object.read(), 'normal');
      const keys = object.isLarge
        ? await runFromNow(keysInSteps(declared, attributes), 'normal')
        : keysOf(declared, attributes);
      keyed.push({ id: object.id, lastModified: object.lastModified, keys });
      chars += object.text.length;
      if (chars < charsPerStep) continue;
      chars = 0;
      await pause('normal');
    }
    await storage.setKeys(list, keyed);
    const checked = await this.#findDuplicates(list, storage, declared, indexes, objects);
    if (more) {
      const cursor = objects.at(-1)?.lastModified ?? work.until;
      const done = Math.min(work.total, work.done + objects.length);
      await writeStates(storage, list, { indexes: checked, work: { ...work, cursor, done } });
      return true;
    }
    const left = checked.filter(({ status }) => status !== 'removing');
    await writeStates(storage, list, { indexes: left.map(complete), work: undefined });
    return false;
  }

  /** Returns the indexes that a list has now. */
  async #declared({ kind, parent }: ListKey, storage: StorageReader): Promise<readonly ListIndex[]> {
    const compiled = this.#options.kinds.get(kind);
    if (compiled === undefined) return [];
    const above = compiled.parent;
    if (above === undefined || compiled.indexes !== 'parent') return declaredIndexes(compiled, {});
    // The URI of the object above ends in the path of its list and its id.
    const segments = parent.split('/');
    const object = await storage.get(
      { kind: above.name, parent: storedParent(segments.slice(0, -2).join('/')) },
      segments.at(-1) ?? '',
    );
    return object === undefined ? [] : indexesOf(object);
  }

  #withUse(list: ListKey, state: IndexState): IndexState {
    const lastUsed = this.#uses.get(`${keyOfList(list)} ${state.prefix}`) ?? 0;
    return lastUsed > state.lastUsed ? { ...state, lastUsed } : state;
  }

  /** Marks unique indexes as failed when one of the objects has the values of another one. */
  async #findDuplicates(
    list: ListKey,
    storage: StorageWriter,
    declared: readonly ListIndex[],
    states: readonly IndexState[],
    objects: readonly StoredObject[],
  ): Promise<readonly IndexState[]> {
    const found = new Map<string, readonly string[]>();
    for (const index of declared) {
      const prefix = index.prefix.toString('hex');
      const isOpen = states.some((state) => state.prefix === prefix && state.status === 'building');
      if (!index.isUnique || !isOpen) continue;
      for (const object of objects) {
        const holder = await findHolder({ storage }, list, index, object);
        if (holder === undefined) continue;
        found.set(prefix, [holder, object.id]);
        break;
      }
    }
    return states.map((state) => {
      const duplicates = found.get(state.prefix);
      return duplicates === undefined ? state : { ...state, status: 'failed', duplicates };
    });
  }
}

function retryMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** failures, longestRetryMs);
}

/** Returns the URI of the bucket of a list. */
function bucketOf({ parent }: ListKey): string {
  return parent.split('/', 3).join('/');
}

function complete(state: IndexState): IndexState {
  return state.status === 'building' ? { ...state, status: 'ready' } : state;
}
