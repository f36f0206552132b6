// Removal of the groups of deleted sources.
import type { Actor } from '../../engine/objects.ts';
import { readSources } from './guards.ts';
import type { CollectionId } from './routes.ts';
import type { SignerService } from './service.ts';

/**
 * Deletes the groups of sources that were deleted, so that members of a source do not become members of a later one with its
 * name. Keeps groups of several sources: those that the settings name without the id of a collection, and those that another
 * source uses.
 *
 * @param deleted the deleted sources, all in one bucket. The request may have created some of them again
 */
export async function removeGroups(
  service: SignerService,
  actor: Actor,
  deleted: readonly CollectionId[],
): Promise<void> {
  const bucket = deleted[0]?.bucket;
  const groups = new Set(deleted.flatMap((source) => service.options.of(source).ownGroups));
  if (bucket === undefined || groups.size === 0) return;
  const names = new Set(deleted.map(({ collection }) => collection));
  for await (const source of readSources(service, actor, bucket)) {
    if (!names.has(source.collection)) for (const id of source.groups) groups.delete(id);
  }
  const { objects } = service.host;
  for (const id of groups) await objects.remove(actor, objects.place('group', { bucket_id: bucket, group_id: id }));
}
