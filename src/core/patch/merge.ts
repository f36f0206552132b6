// The two patches that are plain JSON: members replace members (shallow merge), or objects merge at every depth and
// `null` removes (JSON Merge Patch, RFC 7396). Neither changes its arguments, and both work in steps.
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

/** Each member of the patch replaces the one of the target; `null` is a value like any other. */
export function* shallowMerge(target: JsonObject, patch: JsonObject): Steps<JsonObject> {
  const merged: MutableJsonObject = {};
  yield* copyMembers(target, merged);
  yield* copyMembers(patch, merged);
  return merged;
}

/** RFC 7396: anything but an object replaces the target, of whatever type that is. */
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
    // Also inside a new object `null` asks for removal, so that it never gets stored.
    if (change === undefined || change === null || Object.hasOwn(old, key)) continue;
    setKey(merged, key, yield* mergePatch(undefined, change, budget));
  }
  return merged;
}
