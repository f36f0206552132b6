// Owned lists: at one address each caller has a list of their own, whose objects carry permissions. The owner is part of
// the ids and of the URI of each object, so entries of two owners never mix.
import { storedId, type ObjectId, type PathIds } from '../core/objects/object-id.ts';
import { objectTemplate } from '../core/objects/uris.ts';
import type { Caller } from './caller.ts';
import type { ResourceKind } from './kind.ts';

/** One owned list in the path of a kind. */
export interface OwnedList {
  /** Name of the owner among the ids, such as `task_owner`. */
  readonly ownerName: string;
  /** Returns the owner in the form used in URIs; empty for callers without a list. */
  readonly ownerOf: (caller: Caller) => ObjectId;
  /** Returns whether the owner of the caller's list is their own user id, so that no other caller shares it. */
  readonly isSoleOwner: (caller: Caller) => boolean;
}

/** Maximum length of an owner in URIs, in characters; callers with a longer one have no list. */
export const maxOwnerChars = 500;

const noOwner = storedId('');

/**
 * Compiles the owned list of a kind; returns `undefined` for kinds without owned lists.
 *
 * @throws Error when the declaration contradicts itself
 */
export function compileOwnedList({ name, parentOf, flavour, ownerOf }: ResourceKind): OwnedList | undefined {
  if (parentOf === undefined) return undefined;
  if (flavour !== 'shareable' || ownerOf !== undefined) {
    throw new Error(`The resource kind ${name} has parentOf, which fits shareable kinds without ownerOf only.`);
  }
  return {
    ownerName: `${name}_owner`,
    // An anonymous caller never has a list, whatever the plugin returns.
    ownerOf: (caller) => (caller.userId === undefined ? noOwner : encodeOwner(parentOf(caller))),
    isSoleOwner: (caller) => caller.userId !== undefined && parentOf(caller) === caller.userId,
  };
}

/** Returns the owner as one URI segment, without characters that have a meaning in URIs or patterns. */
function encodeOwner(parent: string | undefined): ObjectId {
  if (parent === undefined || !parent.isWellFormed()) return noOwner;
  const owner = encodeURIComponent(parent).replaceAll('*', '%2A');
  return owner.length > maxOwnerChars ? noOwner : storedId(owner);
}

/** Returns the text as an owner, or `undefined` when it does not have the form of one. */
export function parseOwner(text: string): ObjectId | undefined {
  return text.length <= maxOwnerChars && /^[\w\-.!~'()%]+$/.test(text) ? storedId(text) : undefined;
}

/**
 * Returns the path of the lists of a kind in URIs: the path of the address with the owner after each owned list.
 *
 * @param parent the kind above, with the path of its own lists in URIs
 * @throws Error when a kind below owned lists has a path outside of them
 */
export function uriPathOf(
  kind: ResourceKind,
  parent: { readonly declaration: ResourceKind; readonly uriPath: string } | undefined,
): string {
  let path = kind.path;
  if (parent !== undefined && parent.uriPath !== parent.declaration.path) {
    const above = objectTemplate(parent.declaration.name, parent.declaration.path);
    if (!path.startsWith(`${above}/`))
      throw new Error(`The path ${path} of ${kind.name} does not begin with ${above}.`);
    path = objectTemplate(parent.declaration.name, parent.uriPath) + path.slice(above.length);
  }
  return kind.parentOf === undefined ? path : `${path}/{${kind.name}_owner}`;
}

/** Returns the ids with the caller as owner of each owned list in the path. Owners among the ids stay. */
export function withOwners(owned: readonly OwnedList[], ids: PathIds, caller: Caller): PathIds {
  if (owned.length === 0) return ids;
  const completed: Record<string, ObjectId> = Object.assign({}, ids);
  for (const { ownerName, ownerOf } of owned) completed[ownerName] ??= ownerOf(caller);
  return completed;
}

/** Returns whether each owned list in the path has an owner. */
export function haveOwners(owned: readonly OwnedList[], ids: PathIds): boolean {
  return owned.every(({ ownerName }) => (ids[ownerName] ?? '') !== '');
}

/** Returns whether the caller owns each owned list in the path. */
export function ownsLists(owned: readonly OwnedList[], ids: PathIds, caller: Caller): boolean {
  return haveOwners(owned, ids) && owned.every(({ ownerName, ownerOf }) => ids[ownerName] === ownerOf(caller));
}
