// Kinds of objects, addresses of objects, and the part of the page's address behind `#`.

/**
 * @typedef {'bucket' | 'collection' | 'group' | 'record'} KindName
 * @typedef {{
 *   readonly name: KindName, readonly plural: string, readonly children: readonly KindName[],
 *   readonly permissions: readonly string[], readonly template: string,
 * }} Kind
 * @typedef {{ readonly kind: Kind, readonly id: string }} Step
 * @typedef {readonly Step[]} Place from the bucket down to the object; `[]` is the service
 * @typedef {{ readonly place: Place, readonly query: URLSearchParams }} Route
 */

/** @type {Readonly<Record<KindName, Kind>>} */
export const kinds = {
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

/** Returns the address of an object below the API. @param {Place} place @returns {string} */
export function pathOf(place) {
  return place.map(({ kind, id }) => `${kind.plural}/${encodeURIComponent(id)}`).join('/');
}

/** Returns the address of a list below the API. @param {Place} place @param {Kind} kind @returns {string} */
export function listPathOf(place, kind) {
  return [...(place.length === 0 ? [] : [pathOf(place)]), kind.plural].join('/');
}

/**
 * Returns the address of a view.
 *
 * @param {Place} place
 * @param {Readonly<Record<string, string>> | URLSearchParams} [query]
 * @returns {string}
 */
export function hashOf(place, query = {}) {
  const text = new URLSearchParams(query).toString();
  return `#/${pathOf(place)}${text === '' ? '' : `?${text}`}`;
}

/** @param {Place} place @param {Kind} kind @param {string} id @returns {Place} */
export function below(place, kind, id) {
  return [...place, { kind, id }];
}

/** Returns the view of the address. @param {string} hash @returns {Route | undefined} `undefined` for an unknown address */
export function parseHash(hash) {
  const text = hash.replace(/^#?\/?/, '');
  const mark = text.indexOf('?');
  const path = mark === -1 ? text : text.slice(0, mark);
  const query = new URLSearchParams(mark === -1 ? '' : text.slice(mark + 1));
  const parts = path.split('/').filter((part) => part !== '');
  /** @type {Step[]} */
  const place = [];
  for (let at = 0; at < parts.length; at += 2) {
    const last = place.at(-1);
    const names = last === undefined ? /** @type {const} */ (['bucket']) : last.kind.children;
    const kind = names.map((name) => kinds[name]).find(({ plural }) => plural === parts[at]);
    const id = decode(parts[at + 1] ?? '');
    if (kind === undefined || id === '' || id === '.' || id === '..') return undefined;
    place.push({ kind, id });
  }
  return { place, query };
}

/** @param {string} text @returns {string} */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign: no such address.
    return '';
  }
}
