// Entries of objects that are granted to a single principal. Most objects are such: only their creator is in an entry.
// Equal entries are stored once, so an object costs no sets of its own. Shared entries never change; a writer gets a copy.
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';

/** permission → principals, of one object. */
export type Entries = Map<string, Set<Principal>>;

class SoleEntries extends Map<string, Set<Principal>> {}
class SoleNames extends Set<string> {}

/** Maximum number of shared entries. */
const maxKept = 1000;

const kept = new Map<string, Map<Principal, SoleEntries>>();
let count = 0;
const keptNames = new Map<string, SoleNames>();

/** Returns entries that grant one permission to one principal. Only `ownEntries` may change them. */
export function soleEntries(permission: string, principal: Principal): Entries {
  const known = kept.get(permission)?.get(principal);
  if (known !== undefined) return known;
  const entries = new SoleEntries([[permission, new Set([principal])]]);
  if (++count > maxKept) {
    kept.clear();
    count = 1;
  }
  const ofPermission = kept.get(permission);
  if (ofPermission === undefined) kept.set(permission, new Map([[principal, entries]]));
  else ofPermission.set(principal, entries);
  return entries;
}

/** Returns the entries of the object in a form that may be changed, and stores them in `objects` when they are new. */
export function ownEntries(objects: Map<ObjectUri, Entries>, objectId: ObjectUri, entries: Entries): Entries {
  if (!(entries instanceof SoleEntries)) return entries;
  const own = new Map<string, Set<Principal>>();
  for (const [permission, principals] of entries) own.set(permission, new Set(principals));
  objects.set(objectId, own);
  return own;
}

/** Returns a set of one permission. Only `ownNames` may change it. */
export function soleNames(permission: string): Set<string> {
  let names = keptNames.get(permission);
  if (names === undefined) {
    names = new SoleNames([permission]);
    if (keptNames.size < maxKept) keptNames.set(permission, names);
  }
  return names;
}

/** Returns the set of the object in a form that may be changed, and stores it in `granted` when it is new. */
export function ownNames(granted: Map<ObjectUri, Set<string>>, objectId: ObjectUri, names: Set<string>): Set<string> {
  if (!(names instanceof SoleNames)) return names;
  const own = new Set(names);
  granted.set(objectId, own);
  return own;
}

/** Returns names that do not change any more. */
export function lastingNames(names: ReadonlySet<string>): ReadonlySet<string> {
  return names instanceof SoleNames ? names : new Set(names);
}
