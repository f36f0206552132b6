// Imports everything that a running server of the protocol shows to one user, over its HTTP API, and compares both sides.
import type { Settings } from '../../settings/settings.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { getKey } from '../../base/json.ts';
import { parseIndexes } from '../../core/index/definition.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import { endFilling, markFilling } from '../../maintenance/filling.ts';
import { forgetIndexes, rebuildIndexes } from '../../maintenance/indexes.ts';
import { compareText } from '../../core/query/compare.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import { isEmptyStore } from '../copy/copy.ts';
import { CopyRefused, withPlace } from '../copy/places.ts';
import { KindSummary, type Compared } from '../copy/verify.ts';
import { importAccounts } from './accounts.ts';
import { ApiRules } from './api-rules.ts';
import { compareIdentity } from './identity.ts';
import type { ListReport } from './findings.ts';
import { compareList, importList } from './import-list.ts';
import { bucketList, collectionList, groupList, historyList, recordList, type SourceList } from './lists.ts';
import { ExpectedMemberships } from './memberships.ts';
import { Oddities } from './oddities.ts';
import { ListHidden, Source, type SourceRoot } from './source.ts';
import { ImportRefused, type TransportOptions } from './transport.ts';

export interface ImportOptions {
  readonly from: TransportOptions;
  /** Treatment of a target that is not empty: `refuse` it; `resume`, making it equal to the source; or only `verify`. */
  readonly mode: 'refuse' | 'resume' | 'verify';
  /** Ids of the buckets to import; all that are shown unless given. */
  readonly buckets?: readonly string[] | undefined;
  /** Whether the history is imported. */
  readonly withHistory?: boolean | undefined;
  readonly onRoot?: ((root: SourceRoot, warnings: readonly string[]) => void) | undefined;
  /** Called with the number of entries read so far and, where it is known, their total. */
  readonly onProgress?: ((read: number, total: number) => void) | undefined;
  /** Called with the numbers of objects whose indexes are built, and to be built. */
  readonly onIndexed?: ((done: number, total: number) => void) | undefined;
  /** Called for each list that is done. */
  readonly onList?: ((compared: Compared) => void) | undefined;
}

export interface ImportResult {
  /** All lists of each kind, then accounts and memberships. */
  readonly parts: readonly Compared[];
  readonly isEqual: boolean;
  /** URIs of objects whose permissions the source does not show. */
  readonly unseen: readonly string[];
  /** Objects that were left out, by name and with the reason. */
  readonly problems: readonly string[];
  /** What is different here without being a problem. */
  readonly notes: readonly string[];
}

/**
 * Imports into the backends of the settings, or compares them with the source.
 *
 * @throws ImportRefused when one end cannot be used, or the target has data that must not be lost
 */
export async function importWith(settings: Settings, options: ImportOptions): Promise<ImportResult> {
  try {
    return await withPlace({ name: 'target', settings }, { creates: options.mode !== 'verify' }, (target) =>
      importInto(target, settings, options),
    );
  } catch (error) {
    if (error instanceof CopyRefused) throw new ImportRefused(error.message, { cause: error });
    throw error;
  }
}

/**
 * Imports into open stores, or compares them alone.
 *
 * @throws ImportRefused when one end cannot be used, or the target has data that must not be lost
 */
export async function importInto(
  target: OpenStores,
  settings: Settings,
  options: ImportOptions,
): Promise<ImportResult> {
  if (!target.hasPermissions) throw new ImportRefused('this configuration has no permission backend');
  if (options.mode === 'refuse' && !(await isEmptyStore(target))) {
    throw new ImportRefused(
      'the target is not empty; use --resume to continue an interrupted import or to update an earlier one',
    );
  }
  const source = new Source(options.from);
  try {
    const root = await source.readRoot();
    options.onRoot?.(root, compareIdentity(root, options.from.headers['authorization'], settings));
    const work = new Import(source, target, root, options, new ApiRules(settings));
    if (options.withHistory === true && !root.capabilities.has('history')) {
      throw new ImportRefused('the source keeps no history');
    }
    if (options.mode === 'verify') return await work.run();
    const result = await work.run();
    await rebuildIndexes(target, options.onIndexed);
    await endFilling(target.storage);
    return result;
  } finally {
    source.close();
  }
}

class Import {
  readonly #source: Source;
  readonly #target: Stores;
  readonly #root: SourceRoot;
  readonly #options: ImportOptions;
  readonly #compared: { readonly kind: string; readonly compared: Compared }[] = [];
  readonly #unseen: string[] = [];
  readonly #problems: string[] = [];
  readonly #notes: string[] = [];
  readonly #rules: ApiRules;
  readonly #oddities = new Oddities();
  readonly #memberships = new ExpectedMemberships();
  #beginning: Promise<void> | undefined;
  #read = 0;
  #total = 0;

  constructor(source: Source, target: Stores, root: SourceRoot, options: ImportOptions, rules: ApiRules) {
    this.#source = source;
    this.#target = target;
    this.#root = root;
    this.#options = options;
    this.#rules = rules;
  }

  async run(): Promise<ImportResult> {
    const { buckets: wanted, withHistory, from } = this.#options;
    const { objects: found } = await this.#bring(bucketList, wanted);
    const ids = found.map(({ id }) => id);
    const missing = (wanted ?? []).filter((id) => !ids.includes(id));
    if (missing.length > 0) {
      throw new ImportRefused(`the source shows no bucket ${missing.join(', ')} to this user`);
    }
    const records: SourceList[] = [];
    await inParallel(ids, from.concurrency, async (bucket) => {
      const groups = groupList(bucket);
      this.#memberships.addBucket(bucket, groups, await this.#bring(groups));
      const { objects: collections } = await this.#bring(collectionList(bucket));
      for (const collection of collections) {
        records.push(recordList(bucket, collection.id));
        this.#noteIndexes(bucket, collection);
      }
      if (withHistory === true) records.push(historyList(bucket));
    });
    await inParallel(records, from.concurrency, async (list) => this.#bringRecords(list));
    const writes = this.#options.mode !== 'verify';
    const sets: Compared[] = [];
    if (wanted === undefined && this.#root.capabilities.has('accounts')) {
      if (writes) await this.#begin();
      const report = await importAccounts(this.#source, this.#target, { writes });
      if (report !== undefined) sets.push(report.compared);
      this.#problems.push(
        ...(report?.problems ?? ['the source does not show accounts to this user: none were imported']),
      );
    }
    sets.push(await this.#memberships.settle(this.#target.permission, { writes }));
    const parts = [...this.#summarize(), ...sets];
    const isEqual = parts.every(({ differences }) => differences.length === 0);
    return {
      parts,
      isEqual,
      unseen: this.#unseen.toSorted(),
      problems: this.#problems.toSorted(),
      notes: [...this.#notes.toSorted(), ...this.#oddities.notes()],
    };
  }

  /** All lists of each kind, in a fixed order. */
  #summarize(): readonly Compared[] {
    const kinds = new Map<string, KindSummary>();
    const inOrder = this.#compared.toSorted((a, b) => compareText(a.compared.name, b.compared.name));
    for (const { kind, compared } of inOrder) {
      const summary = kinds.get(kind) ?? new KindSummary(kind);
      kinds.set(kind, summary);
      summary.add(compared);
    }
    return Array.from(kinds.values(), (summary) => summary.result());
  }

  /** Imports a list of records or history entries. A hidden history is reported, as permissions that are not shown are. */
  /** Marks the target before the first write. An import that is refused before leaves it as it is. */
  #begin(): Promise<void> {
    const { storage } = this.#target;
    return (this.#beginning ??= markFilling(storage, 'import kinto').then(() => forgetIndexes(storage)));
  }

  async #bringRecords(list: SourceList): Promise<void> {
    try {
      await this.#bring(list);
    } catch (error) {
      if (!(error instanceof ListHidden) || list.kind !== 'history') throw error;
      const user = this.#root.userId ?? 'system.Everyone';
      this.#problems.push(
        `${list.name}: the source does not show it to this user; set kinto.history_read_principals = ${user} there`,
      );
    }
  }

  async #bring(list: SourceList, only?: readonly string[]): Promise<ListReport> {
    const state = await this.#source.state(list);
    this.#total += (state?.total ?? 0) * (this.#options.mode === 'verify' ? 1 : 2);
    const work = {
      source: this.#source,
      target: this.#target,
      list,
      rules: this.#rules,
      only,
      beforeWrite: () => this.#begin(),
      onRead: (entries: number) => {
        this.#read += entries;
        this.#options.onProgress?.(this.#read, Math.max(this.#read, this.#total));
      },
    };
    const report = this.#options.mode === 'verify' ? await compareList(work) : await importList(work);
    this.#note(list, report);
    return report;
  }

  /** Notes an attribute that has the name of declared indexes and another meaning. */
  #noteIndexes(bucket: string, collection: StoredObject): void {
    const value = getKey(collection.attributes, 'indexes');
    if (value === undefined || parseIndexes(value) !== undefined) return;
    const uri = `/buckets/${bucket}/collections/${collection.id}`;
    this.#notes.push(`${uri}: the attribute indexes declares no indexes, and was imported as plain data`);
  }

  #note({ kind }: SourceList, { compared, unseen, problems, oddities }: ListReport): void {
    this.#options.onList?.(compared);
    this.#compared.push({ kind, compared });
    for (const uri of unseen) this.#unseen.push(uri);
    for (const problem of problems) this.#problems.push(problem);
    this.#oddities.merge(oddities);
  }
}

/** Does the work for each item, several at a time. The first failure ends it, after the work in progress. */
export async function inParallel<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items].toReversed();
  const failures: unknown[] = [];
  const next = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined && failures.length === 0; item = waiting.pop()) {
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, next));
  if (failures.length > 0) throw failures[0];
}
