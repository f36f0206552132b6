// Who may do what, for the attack on permissions: its trees of URIs put before the model of the protocol.
import { parentOf as parentOfPlace, placeOf, type Kind as ModelKind } from '../model/places.ts';
import * as rights from '../model/rights.ts';
import { Store } from '../model/store.ts';

export type Kind = Exclude<ModelKind, 'history'>;
export type Entries = Readonly<Record<string, readonly string[]>>;

/** Objects by URI with their access-control entries. */
export type Tree = ReadonlyMap<string, Entries>;

export interface Person {
  /** Name to authenticate with; `undefined`: anonymous. */
  readonly name: string | undefined;
  readonly principals: ReadonlySet<string>;
}

/** Kind of the object at a URI. */
export function kindOf(uri: string): Kind {
  return placeOf(uri)!.kind as Kind;
}

/** The object above. */
export function parentOf(uri: string): string | undefined {
  return parentOfPlace(placeOf(uri)!);
}

export function mayRead(tree: Tree, person: Person, uri: string): boolean {
  return rights.mayRead(storeOf(tree), callerOf(person), placeOf(uri)!);
}

export function mayWrite(tree: Tree, person: Person, uri: string): boolean {
  return rights.mayWrite(storeOf(tree), callerOf(person), placeOf(uri)!);
}

/** Whether the person may create objects of a kind below the parent; `undefined` is the root. */
export function mayCreate(tree: Tree, person: Person, parent: string | undefined, kind: Kind): boolean {
  return rights.mayCreate(storeOf(tree), callerOf(person), placeOf(`${parent ?? ''}/${kind}s`)!);
}

/** Whether the person may read the whole of a list below the parent, and so know what is not there. */
export function mayReadWhole(tree: Tree, person: Person, parent: string, kind: Kind): boolean {
  return rights.mayAll(storeOf(tree), callerOf(person), placeOf(`${parent}/${kind}s`)!, 'read');
}

/** Ids seen in a list; `undefined`: refused. */
export function visibleIds(tree: Tree, person: Person, parent: string | undefined, kind: Kind): string[] | undefined {
  return selectIds(tree, person, `${parent ?? ''}/${kind}s`, 'read');
}

/** Ids that a deletion of the list would take; `undefined`: refused. */
export function deletableIds(tree: Tree, person: Person, parent: string | undefined, kind: Kind): string[] | undefined {
  return selectIds(tree, person, `${parent ?? ''}/${kind}s`, 'write');
}

function selectIds(tree: Tree, person: Person, list: string, right: 'read' | 'write'): string[] | undefined {
  const store = storeOf(tree);
  const ids = rights.selectable(store, callerOf(person), placeOf(list)!, right);
  return ids === undefined ? undefined : [...(ids === 'all' ? store.list(list).live.keys() : ids)].toSorted();
}

/** Groups are in the principals already. */
function callerOf({ name, principals }: Person): rights.Person {
  return { id: name, principals, settings: new Set(name === undefined ? [] : ['bucket_create_principals']) };
}

const stores = new WeakMap<Tree, Store>();

function storeOf(tree: Tree): Store {
  const known = stores.get(tree);
  if (known !== undefined) return known;
  const store = new Store();
  for (const [uri, entries] of tree) {
    const place = placeOf(uri)!;
    store.put(place.list, place.id!, {}, 0);
    store.setEntries(uri, new Map(Object.entries(entries).map(([name, principals]) => [name, new Set(principals)])));
  }
  stores.set(tree, store);
  return store;
}
