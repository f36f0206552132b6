// The groups of editors and reviewers of a source collection.
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { Caller } from '../../engine/caller.ts';
import { placeUri, type CollectionId } from './routes.ts';
import { collectionPlace, type Work } from './service.ts';
import type { CollectionOptions } from './options.ts';

/** URIs of the groups, which are the principals of their members. */
export function groupUris(
  { bucket }: CollectionId,
  { editorsGroup, reviewersGroup }: CollectionOptions,
): { readonly editors: string; readonly reviewers: string } {
  const uri = (id: string): string => `${placeUri({ bucket, collection: undefined })}/groups/${id}`;
  return { editors: uri(editorsGroup), reviewers: uri(reviewersGroup) };
}

/** Creates the groups as far as they are not there; whoever creates them is an editor, and may write to both. */
export async function ensureGroups({ service, actor, route, options }: Work, creator: Caller): Promise<void> {
  const { objects } = service.host;
  const { bucket } = route.source;
  // Whoever is not known cannot be told from everybody else.
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

/** The entries with more principals in one of them. */
export function withPrincipals(
  stored: ObjectPermissions,
  permission: string,
  principals: readonly string[],
): ObjectPermissions {
  return { ...stored, [permission]: [...new Set([...(stored[permission] ?? []), ...principals])] };
}

/** Whether the source collection of the route is there: while it is, what belongs to it cannot be taken away. */
export async function isInUse({ service, actor, route }: Pick<Work, 'service' | 'actor' | 'route'>): Promise<boolean> {
  const { objects } = service.host;
  return (await objects.find(actor, collectionPlace(objects, route.source))) !== undefined;
}
