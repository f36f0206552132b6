// Who may do what, in plain set logic: permissions.md of the protocol as one table and a few questions to it.
import { parentOf, placeOf, uriOf, uriOfKind, type Kind, type Place } from './places.ts';
import type { Store } from './store.ts';

export const everyone = 'system.Everyone';
export const authenticated = 'system.Authenticated';

export interface Person {
  /** User id; `undefined`: anonymous. */
  readonly id: string | undefined;
  readonly principals: ReadonlySet<string>;
  /** Settings that name one of the principals. */
  readonly settings: ReadonlySet<string>;
}

type Entry = readonly [kind: Kind, entry: string];

const bucketReads: readonly Entry[] = [
  ['bucket', 'write'],
  ['bucket', 'read'],
];
const collectionReads: readonly Entry[] = [...bucketReads, ['collection', 'write'], ['collection', 'read']];

/** Entries that grant a permission on an object of the kind: permissions.md §3. */
const grants: Readonly<Record<string, readonly Entry[]>> = {
  'bucket write': [['bucket', 'write']],
  'bucket read': [...bucketReads, ['bucket', 'collection:create'], ['bucket', 'group:create']],
  'bucket list': bucketReads,
  'bucket collection:create': [
    ['bucket', 'write'],
    ['bucket', 'collection:create'],
  ],
  'bucket group:create': [
    ['bucket', 'write'],
    ['bucket', 'group:create'],
  ],
  'group write': [
    ['bucket', 'write'],
    ['group', 'write'],
  ],
  'group read': [...bucketReads, ['group', 'write'], ['group', 'read']],
  'collection write': [
    ['bucket', 'write'],
    ['collection', 'write'],
  ],
  'collection read': [...collectionReads, ['collection', 'record:create']],
  'collection list': collectionReads,
  'collection record:create': [
    ['bucket', 'write'],
    ['collection', 'write'],
    ['collection', 'record:create'],
  ],
  'record write': [
    ['bucket', 'write'],
    ['collection', 'write'],
    ['record', 'write'],
  ],
  'record read': [...collectionReads, ['record', 'write'], ['record', 'read']],
  'history write': [
    ['bucket', 'write'],
    ['history', 'write'],
  ],
  'history read': [...bucketReads, ['history', 'write'], ['history', 'read']],
};

/** Names of the entries that objects of a kind may have. */
export const entryNames: Readonly<Record<Kind, readonly string[]>> = {
  bucket: ['read', 'write', 'collection:create', 'group:create'],
  group: ['read', 'write'],
  collection: ['read', 'write', 'record:create'],
  record: ['read', 'write'],
  history: [],
};

/**
 * Returns the principals of a caller: its id, and every group with this id as a member.
 *
 * @param named principals by setting
 */
export function personOf(store: Store, id: string | undefined, named: ReadonlyMap<string, readonly string[]>): Person {
  const principals = principalsOf(store, id);
  const settings = [...named].filter(([, all]) => all.some((principal) => principals.has(principal)));
  return { id, principals, settings: new Set(settings.map(([name]) => name)) };
}

function principalsOf(store: Store, id: string | undefined): ReadonlySet<string> {
  if (id === undefined) return new Set([everyone]);
  const groups: string[] = [];
  for (const [path, { live }] of store.lists) {
    if (!path.endsWith('/groups')) continue;
    for (const [group, { data }] of live) {
      const members = data['members'] as readonly string[];
      if (members.includes(id) || members.includes(authenticated)) groups.push(`${path}/${group}`);
    }
  }
  return new Set([id, everyone, authenticated, ...groups]);
}

/** Whether one of the person's principals stands in the entry. */
export function holds(store: Store, person: Person, uri: string, entry: string): boolean {
  const principals = store.entriesOf(uri).get(entry);
  return principals !== undefined && [...principals].some((principal) => person.principals.has(principal));
}

/** `asked` is the kind whose address was called, after which settings are named. */
function may(store: Store, person: Person, place: Place, right: string, asked: Kind): boolean {
  return grants[`${place.kind} ${right}`]!.some(([kind, entry]) => {
    const uri = uriOfKind(place, kind);
    return isSet(person, asked, entry) || (uri !== undefined && holds(store, person, uri, entry));
  });
}

/** Whether a setting grants what the entry would: permissions.md §4.1. */
function isSet({ settings }: Person, asked: Kind, entry: string): boolean {
  const name = entry.startsWith(`${asked}:`) ? entry.replace(':', '_') : `${asked}_${entry}`;
  return settings.has(`${name}_principals`);
}

/** Reading the object itself, `read:attributes` where there is such a permission. */
export function mayRead(store: Store, person: Person, place: Place): boolean {
  return may(store, person, place, 'read', place.kind);
}

export function mayWrite(store: Store, person: Person, place: Place): boolean {
  return may(store, person, place, 'write', place.kind);
}

/** Creating in the list of the place. */
export function mayCreate(store: Store, person: Person, place: Place): boolean {
  const parent = parentOf(place);
  if (parent === undefined) return isSet(person, place.kind, 'create');
  return may(store, person, placeOf(parent)!, `${place.kind}:create`, place.kind);
}

/** Reading, or changing, everything in the list of the place. */
export function mayAll(store: Store, person: Person, place: Place, right: 'read' | 'write'): boolean {
  const parent = parentOf(place);
  if (parent === undefined) return isSet(person, place.kind, right);
  return may(store, person, placeOf(parent)!, right === 'read' ? 'list' : 'write', place.kind);
}

/** Returns the ids of a list that a caller may see or change: all, some, or `undefined` for a refused caller. */
export function selectable(
  store: Store,
  person: Person,
  place: Place,
  right: 'read' | 'write',
): 'all' | readonly string[] | undefined {
  if (mayAll(store, person, place, right)) return 'all';
  const own = grants[`${place.kind} ${right}`]!.filter(([kind]) => kind === place.kind);
  const ids = [...store.list(place.list).live.keys()].filter((id) =>
    own.some(([, entry]) => holds(store, person, uriOf({ ...place, id }), entry)),
  );
  if (ids.length > 0) return ids;
  const isCreator = place.kind !== 'history' && mayCreate(store, person, place);
  // An authenticated caller always gets a list of buckets.
  const isOpen = place.kind === 'bucket' && right === 'read' && person.id !== undefined;
  return isCreator || isOpen ? [] : undefined;
}

/** Permissions that entries on an object grant on that very object: endpoints.md §7. */
export function expanded(store: Store, person: Person, place: Place): readonly string[] {
  const uri = uriOf(place);
  const held = entryNames[place.kind].filter(
    (entry) => holds(store, person, uri, entry) || isSetOnAll(person, place.kind, entry),
  );
  if (held.includes('write')) {
    return [...entryNames[place.kind], ...(hasAttributes(place) ? ['read:attributes'] : [])];
  }
  return [...held, ...(hasAttributes(place) && held.length > 0 ? ['read:attributes'] : [])];
}

/** Whether a setting puts them into this entry of every object. Records are too many to be listed one by one. */
function isSetOnAll(person: Person, kind: Kind, entry: string): boolean {
  if (kind === 'record') return false;
  const [created, create] = entry.split(':');
  if (create === undefined) return isSet(person, kind, entry);
  // To write all objects of a kind includes to create them: permissions.md, settings that grant permissions.
  return ['create', 'write'].some((name) => person.settings.has(`${created}_${name}_principals`));
}

function hasAttributes({ kind }: Place): boolean {
  return kind === 'bucket' || kind === 'collection';
}
