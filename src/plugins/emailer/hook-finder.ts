// Finds the hooks for the changes of one event. Each collection and each bucket is read once.
import { runFromNow } from '../../base/steps.ts';
import type { Logger } from '../../contracts/logger.ts';
import { isTombstone, type StoredObject } from '../../core/objects/stored.ts';
import { uriBelow, type ListParent } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import type { ReservingReader } from '../../engine/unit-of-work.ts';
import { FilterFactory } from './filters.ts';
import { readHooks, type Hook, type HookRules } from './hooks.ts';
import { readingSteps, type MatchingBudget } from './matching-budget.ts';

/** Steps of one unit of `FilterFactory.work`. */
const stepsOfPatternWork = 5;

export interface HookFinderOptions {
  readonly storage: ReservingReader;
  readonly limits: Omit<HookRules, 'bucketId'>;
  readonly logger: Logger;
}

type MaybeHooks = readonly Hook[] | undefined;

export class HookFinder {
  readonly #options: HookFinderOptions;
  readonly #budget: MatchingBudget;
  readonly #ofCollections = new Map<string, readonly Hook[]>();
  readonly #ofBuckets = new Map<string, readonly Hook[]>();

  constructor(options: HookFinderOptions, budget: MatchingBudget) {
    this.#options = options;
    this.#budget = budget;
  }

  /**
   * Returns the hooks of the collection, or those of its bucket if it has no hooks attribute. Returns no promise if they are
   * known.
   */
  find(change: Change): readonly Hook[] | Promise<readonly Hook[]> {
    return this.#ofCollections.get(collectionOf(change)) ?? this.#read(change);
  }

  async #read(change: Change): Promise<readonly Hook[]> {
    const { bucket_id: bucketId = '', collection_id: collectionId = '' } = change.ids;
    const bucketUri = uriBelow('', 'buckets', bucketId);
    let hooks = await this.#readFrom(change, 'collection', bucketUri, collectionId);
    if (hooks === undefined) {
      hooks = this.#ofBuckets.get(bucketUri) ?? (await this.#readFrom(change, 'bucket', '', bucketId)) ?? [];
      this.#ofBuckets.set(bucketUri, hooks);
    }
    this.#ofCollections.set(collectionOf(change), hooks);
    return hooks;
  }

  async #readFrom(change: Change, kind: 'collection' | 'bucket', parent: ListParent, id: string): Promise<MaybeHooks> {
    const { storage, limits, logger } = this.#options;
    const object = ownState(change, kind) ?? (await storage.get({ kind, parent }, id, undefined));
    this.#budget.spend(readingSteps(object));
    if (object === undefined) return undefined;
    const attributes = await runFromNow(object.read(), 'normal');
    const rules = { ...limits, bucketId: change.ids['bucket_id']! };
    const complain = (name: string, description: string): void =>
      logger.warn({ [kind]: id, name, description }, 'An invalid mail hook is ignored');
    const filters = new FilterFactory();
    const hooks = await runFromNow(readHooks(attributes, rules, complain, filters), 'normal');
    this.#budget.spend(filters.work * stepsOfPatternWork);
    return hooks;
  }
}

function collectionOf({ kind, uri, list }: Change): string {
  return kind === 'collection' ? uri : list.parent;
}

/** Returns the object if it is the changed one itself, in its last state if deleted. */
function ownState({ kind, old, new: entry }: Change, wanted: string): StoredObject | undefined {
  if (kind !== wanted) return undefined;
  return isTombstone(entry) ? old : entry;
}
