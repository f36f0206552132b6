// Selects a page among objects that were all read.
import type { Steps } from '../../base/steps.ts';
import { TopN } from '../../base/top-n.ts';
import { cutPage, type EntryPage } from '../objects/page-text.ts';
import type { StoredEntry, StoredObject } from '../objects/stored.ts';
import { WorkMeter } from './evaluate-steps.ts';
import { isWanted, wantedInSteps, type PagePlan, type SelectionPlan } from './plan-page.ts';
import { compareEntries, isAfter } from './sort.ts';

/** Returns the page of a plan. For one that reads the index by id, the objects have to be those of its range. */
export function* selectAmong(objects: Iterable<StoredObject>, plan: PagePlan): Steps<EntryPage<StoredObject>> {
  const { sort, after, limit } = plan;
  const first = new TopN<StoredObject>(limit + 1, compareEntries(sort));
  yield* visitWanted(objects, plan, (object) => {
    if (after === undefined || isAfter(object, sort, after)) first.add(object);
  });
  return cutPage(first.finish(), plan);
}

/** Visits the wanted ones of entries that were all read. */
export function* visitWanted<T extends StoredEntry>(
  entries: Iterable<T>,
  plan: PagePlan | SelectionPlan,
  visit: (entry: T) => void,
): Steps<void> {
  const ids = plan.by === 'lookup' ? new Set(plan.ids) : undefined;
  const meter = new WorkMeter(plan.residual);
  for (const entry of entries) {
    if (ids?.has(entry.id) === false) continue;
    if (meter.isLong(entry) ? yield* wantedInSteps(entry, plan) : isWanted(entry, plan)) visit(entry);
    if (meter.add(entry)) yield;
  }
}

/** Returns the wanted ones of entries that were all read. */
export function* filterWanted<T extends StoredEntry>(
  entries: Iterable<T>,
  plan: PagePlan | SelectionPlan,
): Steps<readonly T[]> {
  const wanted: T[] = [];
  yield* visitWanted(entries, plan, (entry) => wanted.push(entry));
  return wanted;
}
