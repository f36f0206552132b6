// Who may do what, told once more in plain set logic and nothing of the service's own code: the reference for the attack on
// permissions.

export type Kind = 'bucket' | 'group' | 'collection' | 'record';
export type Entries = Readonly<Record<string, readonly string[]>>;

/** Objects by URI with their access-control entries. */
export type Tree = ReadonlyMap<string, Entries>;

export interface Person {
  /** Name to authenticate with; `undefined`: anonymous. */
  readonly name: string | undefined;
  readonly principals: ReadonlySet<string>;
}

/** Kind of an object from the number of parts in its URI and the name of its list. */
export function kindOf(uri: string): Kind {
  const parts = uri.split('/');
  return parts.length === 3 ? 'bucket' : parts.length === 7 ? 'record' : parts[3] === 'groups' ? 'group' : 'collection';
}

/** The object above. */
export function parentOf(uri: string): string | undefined {
  const parent = uri.split('/').slice(0, -2).join('/');
  return parent === '' ? undefined : parent;
}

/** Entries that grant a permission, `up` levels above the object: permissions.md §3 of the protocol. */
const grants: Readonly<Record<string, readonly (readonly [up: number, entry: string])[]>> = {
  'bucket read': [
    [0, 'read'],
    [0, 'write'],
    [0, 'collection:create'],
    [0, 'group:create'],
  ],
  'bucket write': [[0, 'write']],
  'group read': [
    [0, 'read'],
    [0, 'write'],
    [1, 'read'],
    [1, 'write'],
  ],
  'group write': [
    [0, 'write'],
    [1, 'write'],
  ],
  'collection read': [
    [0, 'read'],
    [0, 'write'],
    [0, 'record:create'],
    [1, 'read'],
    [1, 'write'],
  ],
  'collection write': [
    [0, 'write'],
    [1, 'write'],
  ],
  'record read': [
    [0, 'read'],
    [0, 'write'],
    [1, 'read'],
    [1, 'write'],
    [2, 'read'],
    [2, 'write'],
  ],
  'record write': [
    [0, 'write'],
    [1, 'write'],
    [2, 'write'],
  ],
  // On lists, seen from the object above.
  'bucket list': [
    [0, 'read'],
    [0, 'write'],
  ],
  'collection list': [
    [0, 'read'],
    [0, 'write'],
    [1, 'read'],
    [1, 'write'],
  ],
  'bucket group:create': [
    [0, 'group:create'],
    [0, 'write'],
  ],
  'bucket collection:create': [
    [0, 'collection:create'],
    [0, 'write'],
  ],
  'collection record:create': [
    [0, 'record:create'],
    [0, 'write'],
    [1, 'write'],
  ],
};

function holds(tree: Tree, person: Person, uri: string, up: number, entry: string): boolean {
  let holder: string | undefined = uri;
  for (let level = 0; level < up && holder !== undefined; level++) holder = parentOf(holder);
  const principals = holder === undefined ? undefined : tree.get(holder)?.[entry];
  return principals?.some((principal) => person.principals.has(principal)) === true;
}

function may(tree: Tree, person: Person, uri: string, right: string): boolean {
  return grants[`${kindOf(uri)} ${right}`]!.some(([up, entry]) => holds(tree, person, uri, up, entry));
}

export function mayRead(tree: Tree, person: Person, uri: string): boolean {
  return may(tree, person, uri, 'read');
}

export function mayWrite(tree: Tree, person: Person, uri: string): boolean {
  return may(tree, person, uri, 'write');
}

/** Whether the person may create objects of a kind below the parent; `undefined` is the root. */
export function mayCreate(tree: Tree, person: Person, parent: string | undefined, kind: Kind): boolean {
  return parent === undefined ? person.name !== undefined : may(tree, person, parent, `${kind}:create`);
}

/** Ids seen in a list; `undefined`: refused. */
export function visibleIds(tree: Tree, person: Person, parent: string | undefined, kind: Kind): string[] | undefined {
  return selectIds(tree, person, parent, kind, 'read', parent !== undefined && may(tree, person, parent, 'list'));
}

/** Ids that a deletion of the list would take; `undefined`: refused. */
export function deletableIds(tree: Tree, person: Person, parent: string | undefined, kind: Kind): string[] | undefined {
  return selectIds(tree, person, parent, kind, 'write', parent !== undefined && mayWrite(tree, person, parent));
}

function selectIds(
  tree: Tree,
  person: Person,
  parent: string | undefined,
  kind: Kind,
  right: 'read' | 'write',
  isWhole: boolean,
): string[] | undefined {
  const all = [...tree.keys()].filter((uri) => kindOf(uri) === kind && parentOf(uri) === parent);
  const own = grants[`${kind} ${right}`]!.filter(([up]) => up === 0);
  const seen = isWhole ? all : all.filter((uri) => own.some(([, entry]) => holds(tree, person, uri, 0, entry)));
  if (seen.length === 0 && !isWhole && !mayCreate(tree, person, parent, kind)) return undefined;
  return seen.map((uri) => uri.slice(uri.lastIndexOf('/') + 1)).toSorted();
}
