// Which entries give which permissions: those of the object, and those of its parents (docs/reference/http-api/permissions.md).
import type { Api } from '../../core/api.ts';
import { elementsOf, memberText } from '../../core/json-text.ts';
import { findObject, loadPage, type Permissions, type StoredObject } from '../../core/objects.ts';
import { uriOf } from '../../core/permits.ts';
import { pathOf, type KindName, type Place } from '../../core/places.ts';
import type { Service } from '../../core/service.ts';

/** An object on the way from the bucket to the object of the view, with what the caller sees of its permissions. */
export interface Level {
  readonly place: Place;
  readonly kind: KindName;
  readonly id: string;
  /** `undefined` when they are not visible to the caller. */
  readonly permissions: Permissions | undefined;
  /** Permissions of the caller on this object, by entries or settings; `undefined` when the service does not list them. */
  readonly held: readonly string[] | undefined;
}

/** An entry that gives a permission on an object: a permission of the object itself or of a parent. */
export interface Grant {
  readonly kind: KindName;
  readonly entry: string;
}

const readers = (...kinds: readonly KindName[]): readonly Grant[] =>
  kinds.flatMap((kind) => ['read', 'write'].map((entry) => ({ kind, entry })));
const writers = (...kinds: readonly KindName[]): readonly Grant[] => kinds.map((kind) => ({ kind, entry: 'write' }));

const grants: Readonly<Record<KindName, Readonly<Record<string, readonly Grant[]>>>> = {
  bucket: {
    read: [
      ...readers('bucket'),
      { kind: 'bucket', entry: 'collection:create' },
      { kind: 'bucket', entry: 'group:create' },
    ],
    write: writers('bucket'),
    'collection:create': [...writers('bucket'), { kind: 'bucket', entry: 'collection:create' }],
    'group:create': [...writers('bucket'), { kind: 'bucket', entry: 'group:create' }],
  },
  collection: {
    read: [...readers('bucket', 'collection'), { kind: 'collection', entry: 'record:create' }],
    write: writers('bucket', 'collection'),
    'record:create': [...writers('bucket', 'collection'), { kind: 'collection', entry: 'record:create' }],
  },
  group: { read: readers('bucket', 'group'), write: writers('bucket', 'group') },
  record: { read: readers('bucket', 'collection', 'record'), write: writers('bucket', 'collection', 'record') },
};

/** Returns the entries that give a permission on an object of the kind. */
export function grantsOf(kind: KindName, permission: string): readonly Grant[] {
  return grants[kind][permission] ?? [{ kind, entry: permission }];
}

/** A visible entry of one level. */
export interface Source {
  readonly level: Level;
  readonly entry: string;
}

/** Returns the visible entries of the levels that give a principal a permission on an object, of the last level's kind. */
export function sourcesOf(
  levels: readonly Level[],
  principal: string,
  permission: string,
  kind: KindName | undefined = levels.at(-1)?.kind,
): readonly Source[] {
  if (kind === undefined) return [];
  const wanted = grantsOf(kind, permission);
  return levels.flatMap((level) =>
    wanted
      .filter((grant) => grant.kind === level.kind)
      .filter(({ entry }) => level.permissions?.get(entry)?.includes(principal) === true)
      .map(({ entry }) => ({ level, entry })),
  );
}

/** Loads the levels of an object: its parents, and itself. */
export async function loadLevels(
  { api, service }: { readonly api: Api; readonly service: Service },
  place: Place,
  object: StoredObject,
  signal: AbortSignal,
): Promise<readonly Level[]> {
  return Promise.all(
    place.map(async ({ kind, id }, index) => {
      const at = place.slice(0, index + 1);
      const isLast = index === place.length - 1;
      // What the caller may not read has no visible permissions.
      const stored = isLast ? object : await findObject(api, pathOf(at)).catch(() => undefined);
      const isVisible = stored !== undefined && stored.permissions.size > 0;
      return {
        place: at,
        kind: kind.name,
        id,
        permissions: isVisible ? stored.permissions : undefined,
        held: await loadHeld({ api, service }, at, signal),
      };
    }),
  );
}

/** Returns the permissions that the service lists for the caller on one object. */
async function loadHeld(
  { api, service }: { readonly api: Api; readonly service: Service },
  place: Place,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  if (!service.capabilities.has('permissions_endpoint')) return undefined;
  const query = new URLSearchParams({ uri: uriOf(place, service), _limit: '1' });
  const page = await loadPage(api, 'permissions', query, signal).catch(() => undefined);
  const [row] = page?.rows ?? [];
  if (page === undefined) return undefined;
  return row === undefined ? [] : elementsOf(memberText(row, 'permissions') ?? '[]').map(readText);
}

function readText(text: string): string {
  return String(JSON.parse(text));
}
