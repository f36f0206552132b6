// Kinds of objects, addresses of objects, and the part of the page's address behind `#`.

export type KindName = 'bucket' | 'collection' | 'group' | 'record';

/** A kind of objects: its name in URLs, the kinds below it, its permissions, and the attributes of a new object. */
export interface Kind {
  readonly name: KindName;
  readonly plural: string;
  readonly children: readonly KindName[];
  readonly permissions: readonly string[];
  readonly template: string;
}

export interface Step {
  readonly kind: Kind;
  readonly id: string;
}

/** The way from the bucket down to an object; `[]` is the service. */
export type Place = readonly Step[];

/** A view: an object or the service, or the page of an area, with the parameters behind `?`. */
export interface Route {
  readonly place: Place;
  /** Name of a page of an area, such as `accounts`; `''` for objects and the first page. */
  readonly page: string;
  readonly query: URLSearchParams;
}

export const kinds: Readonly<Record<KindName, Kind>> = {
  bucket: {
    name: 'bucket',
    plural: 'buckets',
    children: ['collection', 'group'],
    permissions: ['read', 'write', 'collection:create', 'group:create'],
    template: '{}',
  },
  collection: {
    name: 'collection',
    plural: 'collections',
    children: ['record'],
    permissions: ['read', 'write', 'record:create'],
    template: '{}',
  },
  group: {
    name: 'group',
    plural: 'groups',
    children: [],
    permissions: ['read', 'write'],
    template: '{\n  "members": []\n}',
  },
  record: {
    name: 'record',
    plural: 'records',
    children: [],
    permissions: ['read', 'write'],
    template: '{\n  \n}',
  },
};

/** Returns the address of an object below the API. */
export function pathOf(place: Place): string {
  return place.map(({ kind, id }) => `${kind.plural}/${encodeURIComponent(id)}`).join('/');
}

/** Returns the address of a list below the API. */
export function listPathOf(place: Place, kind: Kind): string {
  return [...(place.length === 0 ? [] : [pathOf(place)]), kind.plural].join('/');
}

/** Returns the address of the view of an object. */
export function hashOf(place: Place, query: Readonly<Record<string, string>> | URLSearchParams = {}): string {
  return `#/${pathOf(place)}${searchOf(query)}`;
}

/** Returns the address of a page of an area. */
export function pageHashOf(page: string, query: Readonly<Record<string, string>> | URLSearchParams = {}): string {
  return `#/${encodeURIComponent(page)}${searchOf(query)}`;
}

function searchOf(query: Readonly<Record<string, string>> | URLSearchParams): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the place of an object below another. */
export function below(place: Place, kind: Kind, id: string): Place {
  return [...place, { kind, id }];
}

/** Returns the view of the address; `undefined` for an unknown address. */
export function parseHash(hash: string): Route | undefined {
  const text = hash.replace(/^#?\/?/, '');
  const mark = text.indexOf('?');
  const path = mark === -1 ? text : text.slice(0, mark);
  const query = new URLSearchParams(mark === -1 ? '' : text.slice(mark + 1));
  const parts = path.split('/').filter((part) => part !== '');
  const first = parts[0] ?? '';
  if (parts.length === 1 && first !== kinds.bucket.plural) return { place: [], page: decode(first), query };
  const place: Step[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const last = place.at(-1);
    const names: readonly KindName[] = last === undefined ? ['bucket'] : last.kind.children;
    const kind = names.map((name) => kinds[name]).find(({ plural }) => plural === parts[at]);
    const id = decode(parts[at + 1] ?? '');
    if (kind === undefined || id === '' || id === '.' || id === '..') return undefined;
    place.push({ kind, id });
  }
  return { place, page: '', query };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign: no such address.
    return '';
  }
}
