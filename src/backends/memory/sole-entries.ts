// Entries of objects that are granted to one principal alone, as most are: whoever created them. Those that are the same are
// kept once, so that an object costs no sets of its own. They never change; who wants to change one gets a copy to keep.

/** permission → principals, of one object. */
export type Entries = Map<string, Set<string>>;

class SoleEntries extends Map<string, Set<string>> {}
class SoleNames extends Set<string> {}

/** Entries that are remembered; beyond that many they are made anew. */
const mostKept = 1000;

const kept = new Map<string, Map<string, SoleEntries>>();
let count = 0;
const keptNames = new Map<string, SoleNames>();

/** Entries that grant one permission to one principal. To be changed through `ownEntries` alone. */
export function soleEntries(permission: string, principal: string): Entries {
  const known = kept.get(permission)?.get(principal);
  if (known !== undefined) return known;
  const entries = new SoleEntries([[permission, new Set([principal])]]);
  if (++count > mostKept) {
    kept.clear();
    count = 1;
  }
  const ofPermission = kept.get(permission);
  if (ofPermission === undefined) kept.set(permission, new Map([[principal, entries]]));
  else ofPermission.set(principal, entries);
  return entries;
}

/** The entries of the object in a form that may be changed; they take their place among the others. */
export function ownEntries(objects: Map<string, Entries>, objectId: string, entries: Entries): Entries {
  if (!(entries instanceof SoleEntries)) return entries;
  const own = new Map<string, Set<string>>();
  for (const [permission, principals] of entries) own.set(permission, new Set(principals));
  objects.set(objectId, own);
  return own;
}

/** A set of one permission. To be changed through `ownNames` alone. */
export function soleNames(permission: string): Set<string> {
  let names = keptNames.get(permission);
  if (names === undefined) {
    names = new SoleNames([permission]);
    if (keptNames.size < mostKept) keptNames.set(permission, names);
  }
  return names;
}

/** The set of an object in a form that may be changed; it takes its place among the others. */
export function ownNames(granted: Map<string, Set<string>>, objectId: string, names: Set<string>): Set<string> {
  if (!(names instanceof SoleNames)) return names;
  const own = new Set(names);
  granted.set(objectId, own);
  return own;
}
