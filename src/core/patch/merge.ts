// The two patch formats that are plain JSON: shallow merge, and JSON Merge Patch (RFC 7396), which merges at every depth and
// where `null` removes. Neither changes its arguments; both work in steps.
import {
  getKey,
  isJsonObject,
  setKey,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';
import { copyMembers, StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';

/** Replaces members of the target by those of the patch; `null` is an ordinary value. */
export function* shallowMerge(target: JsonObject, patch: JsonObject): Steps<JsonObject> {
  const merged: MutableJsonObject = {};
  yield* copyMembers(target, merged);
  yield* copyMembers(patch, merged);
  return merged;
}

/** Applies RFC 7396: a patch that is not an object replaces the target. */
export function mergePatch(target: JsonValue | undefined, patch: JsonObject, budget?: StepBudget): Steps<JsonObject>;
export function mergePatch(target: JsonValue | undefined, patch: JsonValue, budget?: StepBudget): Steps<JsonValue>;
export function* mergePatch(
  target: JsonValue | undefined,
  patch: JsonValue,
  budget: StepBudget = new StepBudget(),
): Steps<JsonValue> {
  if (!isJsonObject(patch)) return patch;
  const old = isJsonObject(target) ? target : {};
  const merged: MutableJsonObject = {};
  for (const key of Object.keys(old)) {
    if (budget.spend(1)) yield;
    const change = getKey(patch, key);
    if (change === undefined) setKey(merged, key, old[key]!);
    else if (change !== null) setKey(merged, key, yield* mergePatch(old[key], change, budget));
  }
  for (const key of Object.keys(patch)) {
    if (budget.spend(1)) yield;
    const change = patch[key];
    // `null` removes inside a new object too, so it is never stored.
    if (change === undefined || change === null || Object.hasOwn(old, key)) continue;
    setKey(merged, key, yield* mergePatch(undefined, change, budget));
  }
  return merged;
}
