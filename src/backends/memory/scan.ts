// Reads the entries of a list by time or by id, in steps.
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry } from '../../core/objects/stored.ts';
import { matches } from '../../core/query/evaluate.ts';
import { matchesInSteps, WorkMeter } from '../../core/query/evaluate-steps.ts';
import {
  continueIndex,
  isWanted,
  wantedInSteps,
  type IndexRange,
  type Lookup,
  type Scan,
  type SelectionPlan,
} from '../../core/query/plan-page.ts';
import type { ListView } from './list-view.ts';

/** Measures the work on the entries of a plan; the query is charged only when attributes are read. */
function meterOf({ residual, budget }: IndexRange | SelectionPlan, looksInside: boolean): WorkMeter {
  return new WorkMeter(residual, looksInside ? budget : undefined);
}

/**
 * Visits the wanted entries of a part of an index in its order.
 *
 * @param looksInside whether attributes are read, which takes longer
 * @param visit returns whether the scan ends here
 */
export function* scan<T extends StoredEntry>(
  view: ListView<T>,
  indexRange: IndexRange,
  looksInside: boolean,
  visit: (entry: T) => boolean,
): Steps<void> {
  let rest: IndexRange | undefined = indexRange;
  const meter = meterOf(indexRange, looksInside);
  for (;;) {
    const last: T | undefined = scanStep(view, rest, meter, visit);
    meter.finish();
    if (last === undefined) return;
    yield* view.pause();
    if (meter.isLong(last)) {
      meter.add(last);
      if ((yield* wantedInSteps(last, rest)) && visit(last)) return;
    }
    rest = continueIndex(rest, rest.by === 'time' ? last.lastModified : last.id);
    if (rest === undefined) return;
  }
}

/** Is called with each wanted entry; returns the rest of its work when there is some. */
type Visit<T> = (entry: T) => Steps<void> | undefined;

/**
 * Visits the wanted entries of a range of timestamps, in any order. Takes half the time of a scan in order.
 *
 * @param looksInside whether attributes are read, which takes longer
 */
export function* visitWanted<T extends StoredEntry>(
  view: ListView<T>,
  plan: Scan,
  looksInside: boolean,
  visit: Visit<T>,
): Steps<void> {
  const { range, residual } = plan;
  const meter = meterOf(plan, looksInside);
  for (let part = 0; part < view.partCount; part++) {
    let low = range.low;
    for (;;) {
      let rest: Steps<void> | undefined;
      const last: T | undefined = view.findInPart(part, { low, high: range.high }, (entry) => {
        if (meter.isLong(entry)) return true;
        if (matches(entry, residual)) rest = visit(entry);
        return meter.add(entry) || rest !== undefined;
      });
      meter.finish();
      if (last === undefined) break;
      low = last.lastModified + 1;
      yield* view.pause();
      if (meter.isLong(last)) {
        meter.add(last);
        if (yield* matchesInSteps(last, residual)) rest = visit(last);
      }
      if (rest !== undefined) yield* rest;
    }
  }
}

/** Returns the entry after which the scan continues, which is not tested when it is long; `undefined` at the end. */
function scanStep<T extends StoredEntry>(
  view: ListView<T>,
  indexRange: IndexRange,
  meter: WorkMeter,
  visit: (entry: T) => boolean,
): T | undefined {
  for (const entry of view.walk(indexRange)) {
    if (meter.isLong(entry)) return entry;
    if (isWanted(entry, indexRange) && visit(entry)) return undefined;
    if (meter.add(entry)) return entry;
  }
  return undefined;
}

/** Ids that are looked up in one step, about a millisecond. */
const lookupsPerStep = 4000;

/** Visits the wanted entries among those that have one of the ids. */
export function* lookUp<T extends StoredEntry>(
  view: ListView<T>,
  plan: Lookup,
  looksInside: boolean,
  visit: Visit<T>,
): Steps<void> {
  const meter = meterOf(plan, looksInside);
  let isDue = false;
  let looked = 0;
  for (const id of plan.ids) {
    const entry = view.find(id);
    let rest: Steps<void> | undefined;
    const isLong = entry !== undefined && meter.isLong(entry);
    if (entry !== undefined) {
      if (!isLong && isWanted(entry, plan)) rest = visit(entry);
      isDue = meter.add(entry);
    }
    if (++looked < lookupsPerStep && !isDue && !isLong && rest === undefined) continue;
    meter.finish();
    [isDue, looked] = [false, 0];
    yield* view.pause();
    if (isLong && (yield* wantedInSteps(entry, plan))) rest = visit(entry);
    if (rest !== undefined) yield* rest;
  }
  meter.finish();
}
