// Deletions by commands: tombstones, the cache, whole collections, and attachments that no record has.
import { systemClock } from '../base/clock.ts';
import type { BlobEntry } from '../contracts/blobs.ts';
import { isSafeId, storedId } from '../core/objects/object-id.ts';
import { uriBelow } from '../core/objects/uris.ts';
import { subtractCollection } from '../plugins/quotas/rebuild.ts';
import { cascade } from '../resources/cascade.ts';
import { builtInKindNames } from '../resources/kinds.ts';
import { anonymous } from '../engine/caller.ts';
import { findUnusedFiles } from '../plugins/attachments/unused-files.ts';
import { unlinkCollection } from '../plugins/attachments/file-links.ts';
import { Rules } from '../plugins/attachments/rules.ts';
import { readPlace } from '../plugins/attachments/settings.ts';
import type { Settings } from '../settings/settings.ts';
import type { ListSummary } from '../contracts/storage.ts';
import type { PurgeOptions } from '../core/lists/purge.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { openBlobStore } from '../blobs/open-blob-store.ts';
import { walkLists } from './walk.ts';
import { withBackends, write } from './units.ts';

/** Empties the cache. Security state stays: emptying a cache must not reset limits on failed logins. */
export async function flushCache(settings: Settings): Promise<void> {
  await withBackends(settings, ({ cache }) => cache.flush());
}

export interface PurgeSelection extends Pick<PurgeOptions, 'before' | 'maxRetained'> {
  /** Kinds whose tombstones are deleted; empty: all. */
  readonly kinds: readonly string[];
  /** Kinds of plugins. Others are known if the store has a list of them. */
  readonly knownKinds?: readonly string[];
}

/** Limits of lists and tombstones that one unit of work purges, so that no request waits for long. */
const purgeLists = 20;
const purgeTombstones = 2000;

/**
 * Deletes tombstones, never live objects, in short units of work. Returns their number.
 *
 * @throws Error for unknown kinds, before anything is deleted
 */
export function purgeDeleted(
  settings: Settings,
  { kinds, knownKinds = [], ...limits }: PurgeSelection,
): Promise<number> {
  return withBackends(settings, async (backends) => {
    await requireKinds(backends, kinds, [...builtInKindNames, ...knownKinds]);
    let count = 0;
    let lists: ListSummary[] = [];
    for await (const list of walkLists(backends.storage.reader)) {
      const mayHaveSome = list.dead > (limits.maxRetained ?? 0) && (kinds.length === 0 || kinds.includes(list.kind));
      if (!mayHaveSome) continue;
      lists.push(list);
      if (lists.length < purgeLists) continue;
      count += await purgeFrom(backends, lists, limits);
      lists = [];
    }
    return count + (await purgeFrom(backends, lists, limits));
  });
}

async function requireKinds(
  { storage }: OpenBackends,
  kinds: readonly string[],
  known: readonly string[],
): Promise<void> {
  if (kinds.every((kind) => known.includes(kind))) return;
  const all = new Set(known);
  for await (const { kind } of walkLists(storage.reader)) all.add(kind);
  const unknown = kinds.filter((kind) => !all.has(kind));
  if (unknown.length === 0) return;
  throw new Error(`unknown kinds of objects: ${unknown.join(', ')}. Use ${[...all].toSorted().join(', ')}.`);
}

/** Deletes tombstones of a few lists, in as many units of work as it takes. */
async function purgeFrom(
  backends: OpenBackends,
  lists: readonly ListSummary[],
  limits: Pick<PurgeSelection, 'before' | 'maxRetained'>,
): Promise<number> {
  let count = 0;
  let left = lists;
  while (left.length > 0) {
    const unit = await write(backends, async ({ storage }) => {
      let purged = 0;
      for (const [index, { kind, parent }] of left.entries()) {
        const limit = purgeTombstones - purged;
        purged += await storage.purgeDeleted({ kind, parent, ...limits, limit });
        // The list may have more, so the next unit of work begins with it.
        if (purged >= purgeTombstones) return { purged, left: left.slice(index) };
      }
      return { purged, left: [] };
    });
    count += unit.purged;
    left = unit.left;
  }
  return count;
}

/** Deletes a collection and everything below it, leaving no tombstones. */
export async function deleteCollection(
  settings: Settings,
  { bucket, collection }: { readonly bucket: string; readonly collection: string },
): Promise<'done' | 'bucket missing' | 'collection missing'> {
  let files: readonly string[] = [];
  const outcome = await withBackends(settings, (backends) =>
    write(backends, async (writer) => {
      files = [];
      if (!isSafeId(bucket)) return 'bucket missing';
      if (!isSafeId(collection)) return 'collection missing';
      const parent = uriBelow('', 'buckets', bucket);
      const found = await writer.storage.get({ kind: 'bucket', parent: '' }, bucket, undefined);
      if (found === undefined) return 'bucket missing';
      const list = { kind: 'collection', parent };
      const deletion = await writer.storage.delete(list, collection, { keepTombstone: false });
      if (deletion === undefined) return 'collection missing';
      if (settings.get('includes').includes('quotas')) await subtractCollection(writer.storage, bucket, collection);
      const uri = uriBelow(parent, 'collections', collection);
      await writer.permission.deleteObjectPermissions([uri]);
      // Both were found.
      const ids = { bucket_id: storedId(bucket), collection_id: storedId(collection) };
      const { old, tombstone } = deletion;
      await cascade(
        {
          action: 'delete',
          kind: 'collection',
          list,
          uri,
          ids,
          old,
          new: tombstone,
          permissions: {},
          caller: anonymous,
        },
        writer,
      );
      if (hasAttachments(settings)) {
        const { keepsOldFiles } = new Rules(settings).of({ bucket, collection });
        files = await unlinkCollection(writer.storage, { bucket, collection }, keepsOldFiles);
      }
      return 'done';
    }),
  );
  if (files.length > 0) await deleteFiles(settings, files);
  return outcome;
}

/**
 * Deletes the old enough attachments that no record has; returns what was deleted, or would be in a dry run.
 *
 * @throws SettingsError when no place for attachments is configured; Error in read-only mode, unless it is a dry run
 */
export async function cleanAttachments(
  settings: Settings,
  { olderThanHours, dryRun }: { readonly olderThanHours: number; readonly dryRun: boolean },
): Promise<readonly BlobEntry[]> {
  if (settings.get('readonly') && !dryRun) {
    throw new Error('readonly is set: attachments must not be deleted from a read-only instance.');
  }
  const store = await openBlobStore(readPlace(settings));
  try {
    const before = systemClock.now() - olderThanHours * 3_600_000;
    const unused = await withBackends(settings, ({ storage }) => findUnusedFiles(store, storage.reader, before));
    if (dryRun) return unused;
    const deleted: BlobEntry[] = [];
    for (const entry of unused) if (await store.deleteOlder(entry.name, before)) deleted.push(entry);
    return deleted;
  } finally {
    await store.close();
  }
}

function hasAttachments(settings: Settings): boolean {
  return settings.get('includes').includes('attachments');
}

async function deleteFiles(settings: Settings, names: readonly string[]): Promise<void> {
  const store = await openBlobStore(readPlace(settings));
  try {
    for (const name of names) await store.delete(name);
  } finally {
    await store.close();
  }
}
