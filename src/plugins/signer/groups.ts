// Groups of editors and reviewers of a source collection.
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import { toPrincipal, type Principal } from '../../core/permissions/principals.ts';
import type { Caller } from '../../engine/caller.ts';
import { placeUri, type CollectionId } from './routes.ts';
import type { Work } from './service.ts';
import type { CollectionOptions } from './options.ts';

/** Returns the URIs of the groups, which are principals of their members. */
export function groupUris(
  { bucket }: CollectionId,
  { editorsGroup, reviewersGroup }: CollectionOptions,
): { readonly editors: Principal; readonly reviewers: Principal } {
  const uri = (id: string): Principal =>
    toPrincipal(uriBelow(placeUri({ bucket, collection: undefined }), 'groups', id));
  return { editors: uri(editorsGroup), reviewers: uri(reviewersGroup) };
}

/** Returns whether the creator of a source may create its groups. Without it, the source gets none, as in Kinto. */
export function mayCreateGroups({ service, actor, route }: Work, creator: Caller): Promise<boolean> {
  const bucket = service.host.objects.place('bucket', { bucket_id: route.source.bucket });
  return service.host.objects.isAllowed({ unit: actor.unit, caller: creator }, bucket, 'group:create');
}

/** Creates missing groups. An authenticated creator becomes an editor and gets `write` on both groups. */
export async function ensureGroups({ service, actor, route, options }: Work, creator: Caller): Promise<void> {
  const { objects } = service.host;
  const { bucket } = route.source;
  // An anonymous caller has no user id to add.
  const known = creator.userId === undefined ? [] : [creator.userId];
  const groups = new Map([
    [options.reviewersGroup, []],
    [options.editorsGroup, known],
  ]);
  for (const [id, members] of groups) {
    const place = objects.place('group', { bucket_id: bucket, group_id: id });
    if ((await objects.find(actor, place)) !== undefined) continue;
    await objects.write(actor, place, {
      attributes: (old) => (old === undefined ? { members } : undefined),
      ...(known.length === 0 ? {} : { permissions: (stored) => withPrincipals(stored, 'write', known) }),
      isVerbatim: true,
    });
  }
}

/** Returns the permissions with principals added to one of them. */
export function withPrincipals(
  stored: ObjectPermissions,
  permission: string,
  principals: readonly Principal[],
): ObjectPermissions {
  return { ...stored, [permission]: [...new Set([...(stored[permission] ?? []), ...principals])] };
}
