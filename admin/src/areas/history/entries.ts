// Entries of the history: what they hold, the version before a change, and the parameters that select entries.
import type { Api } from '../../core/api.ts';
import { displayText, elementsOf, isObjectText, memberText, membersOf, withoutMembers } from '../../core/json-text.ts';
import { loadPage, type Permissions } from '../../core/objects.ts';
import { kinds, pathOf, type Kind, type Place } from '../../core/places.ts';

/** An object at an instant. */
export interface Version {
  /** Attributes as JSON text; `undefined` where the object did not exist. */
  readonly data: string | undefined;
  readonly permissions: Permissions;
}

export interface Entry {
  readonly id: string;
  /** Milliseconds, as text. */
  readonly moment: string;
  readonly action: string;
  readonly uri: string;
  /** Path of the object below the API. */
  readonly path: string;
  /** `undefined` for kinds that only plugins know. */
  readonly kind: Kind | undefined;
  /** `undefined` for anonymous users. */
  readonly user: string | undefined;
  /** `undefined` where the entry was loaded without it. */
  readonly after: Version | undefined;
}

export type WholeEntry = Entry & { readonly after: Version };

/** Parameters of the address that select entries. */
export const filterNames = ['_user', '_action', '_after', '_until'] as const;

/** URI of the list of buckets. */
export const everywhere = '/buckets';

const absent: Version = { data: undefined, permissions: new Map() };

export function historyPathOf(place: Place): string {
  return `${pathOf(place.slice(0, 1))}/history`;
}

/** Returns the path of the history that records the changes of an object. */
export function historyPathOfUri(uri: string): string {
  return `${uri.split('/').slice(1, 3).join('/')}/history`;
}

/** Returns the query of the history of an object and its contents, with the filters of the address. */
export function historyQuery(place: Place, address: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams();
  for (const { kind, id } of place.slice(1)) query.set(`${kind.name}_id`, id);
  const set = (name: string, value: string | null): void => {
    if (value !== null && value !== '') query.set(name, value);
  };
  set('user_id', address.get('_user'));
  set('action', address.get('_action'));
  set('min_last_modified', millisecondsOf(address.get('_after')));
  set('max_last_modified', millisecondsOf(address.get('_until'), 59_999));
  return query;
}

const hour = 3_600_000;

/**
 * Returns the instant of a local time with minutes, which `rest` completes. The service refuses instants far ahead, so later
 * ones become the end of the current hour.
 */
function millisecondsOf(local: string | null, rest = 0): string | null {
  const time = new Date(local ?? '').getTime();
  return Number.isNaN(time) ? null : String(Math.min(time + rest, Math.ceil(Date.now() / hour) * hour));
}

export function readEntry(row: string): Entry {
  const read = (key: string): string => displayText(memberText(row, key) ?? '""');
  const uri = read('uri');
  const name = read('resource_name');
  const action = read('action');
  const user = memberText(row, 'user_id') ?? 'null';
  const target = memberText(row, 'target');
  return {
    id: read('id'),
    moment: read('last_modified'),
    action,
    uri,
    path: uri.replace(/^\//, ''),
    kind: Object.values(kinds).find((kind) => kind.name === name),
    user: user === 'null' ? undefined : displayText(user),
    after: action === 'delete' ? absent : target === undefined ? undefined : readVersion(target),
  };
}

function readVersion(target: string): Version {
  if (!isObjectText(target)) return absent;
  const permissions = memberText(target, 'permissions') ?? '{}';
  return {
    data: memberText(target, 'data') ?? '{}',
    permissions: new Map(
      membersOf(permissions).map(({ key, text }) => [key, elementsOf(text).map((each) => displayText(each))]),
    ),
  };
}

/** Returns an entry with its version. */
export async function loadEntry(
  api: Api,
  historyPath: string,
  entry: Entry,
  signal?: AbortSignal,
): Promise<WholeEntry> {
  const { uri, moment } = entry;
  const query = new URLSearchParams({ uri, last_modified: moment });
  const [row = '{}'] = entry.after === undefined ? (await loadPage(api, historyPath, query, signal)).rows : [];
  const after = entry.after ?? readEntry(row).after;
  if (after === undefined) throw new Error('The history no longer holds this change.');
  return { ...entry, after };
}

/** Returns the version before a change; `undefined` when the history does not hold it. */
export async function loadBefore(
  api: Api,
  historyPath: string,
  { uri, moment, action }: Entry,
  signal?: AbortSignal,
): Promise<Version | undefined> {
  if (action === 'create') return absent;
  const query = new URLSearchParams({ uri, lt_last_modified: moment, _sort: '-last_modified', _limit: '1' });
  const { rows } = await loadPage(api, historyPath, query, signal);
  const [row] = rows;
  return row === undefined ? undefined : readEntry(row).after;
}

/** Returns the attributes for a comparison; `''` where the object did not exist. */
export function comparable({ data }: Version): string {
  return data === undefined ? '' : withoutMembers(data, ['last_modified']);
}

/** Returns the permissions for a comparison: a line for each principal. */
export function permissionLines(permissions: Permissions): string {
  return [...permissions]
    .flatMap(([name, principals]) => principals.map((principal) => `${name}: ${principal}`))
    .toSorted()
    .join('\n');
}
