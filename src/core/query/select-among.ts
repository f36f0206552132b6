// Selects a page among objects that were all read.
import type { Steps } from '../../base/steps.ts';
import type { EntryPage } from '../objects/page-text.ts';
import type { StoredEntry, StoredObject } from '../objects/stored.ts';
import { WorkMeter } from './evaluate-steps.ts';
import { FirstEntries } from './first-entries.ts';
import { budgetOf, isWanted, wantedInSteps, type PagePlan, type SelectionPlan } from './plan-page.ts';

/** Returns the page of a plan. For one that reads the index by id, the objects have to be those of its range. */
export function* selectAmong(objects: Iterable<StoredObject>, plan: PagePlan): Steps<EntryPage<StoredObject>> {
  const first = new FirstEntries<StoredObject>(plan);
  yield* visitWanted(objects, plan, (object) => first.add(object));
  return yield* first.finish();
}

/**
 * Visits the wanted ones of entries that were all read.
 *
 * @param visit returns the rest of its work when there is some
 */
function* visitWanted<T extends StoredEntry>(
  entries: Iterable<T>,
  plan: PagePlan | SelectionPlan,
  visit: (entry: T) => Steps<void> | undefined,
): Steps<void> {
  const ids = plan.by === 'lookup' ? new Set(plan.ids) : undefined;
  const meter = new WorkMeter(plan.residual, budgetOf(plan));
  for (const entry of entries) {
    if (ids?.has(entry.id) === false) continue;
    // Noted before the test: one object may be all of the work.
    if (meter.add(entry)) yield;
    if (meter.isLong(entry) ? yield* wantedInSteps(entry, plan) : isWanted(entry, plan)) {
      const rest = visit(entry);
      if (rest !== undefined) yield* rest;
    }
  }
  meter.finish();
}

/** Returns the wanted ones of entries that were all read. */
export function* filterWanted<T extends StoredEntry>(
  entries: Iterable<T>,
  plan: PagePlan | SelectionPlan,
): Steps<readonly T[]> {
  const wanted: T[] = [];
  yield* visitWanted(entries, plan, (entry) => {
    wanted.push(entry);
    return undefined;
  });
  return wanted;
}
