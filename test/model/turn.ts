// What one request is about while the model answers it, and the questions that all verbs share.
import { missing, type Ask, type Expected, type Reply } from './exchange.ts';
import { withMember, type JsonMap } from './json.ts';
import { parentOf, placeOf, uriOf, type Place } from './places.ts';
import { everyone, holds, type Person } from './rights.ts';
import type { Entries, Item, Store, StoredFile } from './store.ts';
import { Refusal } from './exchange.ts';
import type { World } from './world.ts';

/** Something that the history has to tell. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  readonly place: Place;
  /** The object after it, or its tombstone. */
  readonly data: JsonMap;
  readonly entries: Entries;
  /** The object before an update. */
  readonly old?: JsonMap | undefined;
  /** Whether an upload has caused it, or its opposite. */
  readonly isUpload?: boolean;
  readonly userId: string | undefined;
}

export interface Turn {
  readonly world: World;
  readonly store: Store;
  /** Those that there were when the request began: what becomes of files is settled when it ends. */
  readonly files: ReadonlyMap<string, StoredFile>;
  readonly now: number;
  readonly person: Person;
  readonly ask: Ask;
  /** What the service answered: ids that it was free to choose are taken from here. */
  readonly hint: Reply;
  /** What the request has changed so far; of a batch, all of it. */
  readonly changes: readonly Change[];
  readonly record: (change: Omit<Change, 'userId'>) => void;
}

/** 401 for those who have not said who they are, 403 for others. */
export function refused({ id }: Person): Refusal {
  return id === undefined ? new Refusal(401, 104, undefined, { 'www-authenticate': '*' }) : new Refusal(403, 121);
}

/** @throws Refusal when the object that a list lies in does not exist */
export function requireParent({ store }: Turn, place: Place): void {
  const parent = parentOf(place);
  if (parent === undefined || store.find(parent) !== undefined) return;
  const { id, kind } = placeOf(parent)!;
  throw missing(111, id!, kind);
}

/** The object as clients see it. */
export function wholeOf(id: string, { data, lastModified }: Item): JsonMap {
  return withMember(withMember(data, 'id', id), 'last_modified', lastModified);
}

export function tombstone(id: string, lastModified: number): JsonMap {
  return { id, last_modified: lastModified, deleted: true };
}

/** All entries for those in the object's own `write` entry, nothing for others: permissions.md §6. */
export function visibleEntries({ store, person }: Turn, place: Place): JsonMap {
  const uri = uriOf(place);
  return holds(store, person, uri, 'write') ? plainEntries(store.entriesOf(uri)) : {};
}

export function plainEntries(entries: Entries): JsonMap {
  return Object.fromEntries([...entries].map(([name, principals]) => [name, [...principals]]));
}

/** A change adds the caller to the writers of the object. */
export function withWriter(entries: Entries, { id }: Person): Entries {
  return new Map([...entries, ['write', new Set([...(entries.get('write') ?? []), id ?? everyone])]]);
}

/** The answer that shows an object. */
export function objectAnswer(turn: Turn, status: number, place: Place, headers: Expected['headers']): Expected {
  const item = turn.store.find(uriOf(place))!;
  const body = { data: wholeOf(place.id!, item), permissions: visibleEntries(turn, place) };
  return { status, headers, body };
}
