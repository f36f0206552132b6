// Selects a page among objects that were all read.
import { TopN } from '../../base/top-n.ts';
import { cutPage, type EntryPage } from '../objects/page-text.ts';
import type { StoredObject } from '../objects/stored.ts';
import { isWanted, type PagePlan } from './plan-page.ts';
import { compareEntries, isAfter } from './sort.ts';

/** Returns the page of a plan. For one that reads the index by id, the objects have to be those of its range. */
export function selectAmong(objects: Iterable<StoredObject>, plan: PagePlan): EntryPage<StoredObject> {
  const { sort, after, limit } = plan;
  const ids = plan.by === 'lookup' ? new Set(plan.ids) : undefined;
  const first = new TopN<StoredObject>(limit + 1, compareEntries(sort));
  for (const object of objects) {
    if (ids?.has(object.id) === false) continue;
    if (isWanted(object, plan) && (after === undefined || isAfter(object, sort, after))) first.add(object);
  }
  return cutPage(first.finish(), plan);
}
