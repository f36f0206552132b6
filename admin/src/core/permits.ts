// What the user may do with an object and its contents, so that views do not offer what the service would refuse.
import type { Api } from './api.ts';
import { elementsOf, memberText } from './json-text.ts';
import { loadPage, type StoredObject } from './objects.ts';
import type { KindName, Place } from './places.ts';
import type { Service } from './service.ts';

export interface Permits {
  /** Whether the user may change and delete the object. */
  readonly mayChange: boolean;
  /** Whether the user may change some of the records in it. */
  readonly mayChangeRecords: boolean;
  /** Whether the user may create objects of a kind in it; for a record, others next to it. */
  readonly mayCreate: (kind: KindName) => boolean;
}

/** Permits everything: for services that do not say what the user may do. */
export const everything: Permits = { mayChange: true, mayChangeRecords: true, mayCreate: () => true };

/**
 * Returns what the user may do, with one request at most; `[]` is the service. An `object` that is not there, or that the user
 * may not read, is `undefined`.
 */
export async function loadPermits(
  { api, service }: { readonly api: Api; readonly service: Service },
  place: Place,
  object: StoredObject | undefined,
  signal: AbortSignal,
): Promise<Permits> {
  // Only users with `write` see permissions, so views of own objects need no request.
  if ((object?.permissions.size ?? 0) > 0 || !service.capabilities.has('permissions_endpoint')) return everything;
  // The root permits to create buckets.
  const uris = ['/', ...place.map((_step, index) => uriOf(place.slice(0, index + 1), service))];
  const query = new URLSearchParams({
    _filter: JSON.stringify({ $or: [{ uri: { $in: uris } }, ownRecords(place, service)] }),
    // The objects on the way come before the records, of which one is enough.
    _sort: 'uri',
    _limit: String(uris.length + 1),
    _fields: 'uri,permissions',
  });
  const page = await loadPage(api, 'permissions', query, signal).catch(() => undefined);
  if (page === undefined) return everything;
  const held = page.rows.flatMap((row) => elementsOf(memberText(row, 'permissions') ?? '[]'));
  const mayWrite = page.rows.some(
    (row) => uris.some((uri) => memberText(row, 'uri') === JSON.stringify(uri)) && has(row, 'write'),
  );
  // A setting may let the user write all records: the service does not list it, but then the user may create records.
  const mayCreate = (kind: KindName): boolean => mayWrite || held.includes(JSON.stringify(`${kind}:create`));
  const isRecord = place.at(-1)?.kind.name === 'record';
  return {
    mayChange: mayWrite || (isRecord && mayCreate('record')),
    mayChangeRecords: mayCreate('record') || held.includes('"write"'),
    mayCreate,
  };
}

function has(row: string, permission: string): boolean {
  return elementsOf(memberText(row, 'permissions') ?? '[]').includes(JSON.stringify(permission));
}

/** Returns a selector of the records in a collection, the last step of the place, that the user may write. */
function ownRecords(place: Place, service: Service): Readonly<Record<string, unknown>> {
  const [bucket, collection] = uriOf(place, service)
    .split('/')
    .filter((_part, index) => index % 2 === 0 && index > 0);
  return {
    resource_name: 'record',
    bucket_id: bucket,
    collection_id: collection ?? '',
    permissions: { $contains: ['write'] },
  };
}

/** Returns the URI of an object, with the id of the personal bucket in place of `default`. */
export function uriOf(place: Place, service: Service): string {
  return place
    .map(({ kind, id }) => {
      const isPersonal = kind.name === 'bucket' && id === 'default';
      return `/${kind.plural}/${isPersonal ? (service.personalBucket ?? id) : id}`;
    })
    .join('');
}
