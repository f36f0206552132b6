// The two patches that are plain JSON: members replace members (shallow merge), or objects merge at every depth and
// `null` removes (JSON Merge Patch, RFC 7396). Neither changes its arguments.
import {
  getKey,
  isJsonObject,
  setKey,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';

/** Each member of the patch replaces the one of the target; `null` is a value like any other. */
export function shallowMerge(target: JsonObject, patch: JsonObject): JsonObject {
  return { ...target, ...patch };
}

/** RFC 7396: anything but an object replaces the target, of whatever type that is. */
export function mergePatch(target: JsonValue | undefined, patch: JsonObject): JsonObject;
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue;
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const old = isJsonObject(target) ? target : {};
  const merged: MutableJsonObject = {};
  for (const key of Object.keys(old)) {
    const change = getKey(patch, key);
    if (change === undefined) setKey(merged, key, old[key]!);
    else if (change !== null) setKey(merged, key, mergePatch(old[key], change));
  }
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    // Also inside a new object `null` asks for removal, so that it never gets stored.
    if (change === undefined || change === null || Object.hasOwn(old, key)) continue;
    setKey(merged, key, mergePatch(undefined, change));
  }
  return merged;
}
