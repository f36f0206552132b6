// What operators do from the command line, on the same backends and contracts as the service.
import { systemClock } from '../base/clock.ts';
import type { BlobEntry } from '../contracts/blobs.ts';
import { isSafeId, storedId } from '../core/objects/object-id.ts';
import { Retry } from '../engine/retry.ts';
import { UnitOfWork, type Writer } from '../engine/unit-of-work.ts';
import { subtractCollection } from '../plugins/quotas/rebuild.ts';
import { cascade } from '../resources/cascade.ts';
import type { Logger } from '../contracts/logger.ts';
import { anonymous } from '../engine/caller.ts';
import { findUnusedFiles } from '../plugins/attachments/unused-files.ts';
import { unlinkCollection } from '../plugins/attachments/file-links.ts';
import { Rules } from '../plugins/attachments/rules.ts';
import { readPlace } from '../plugins/attachments/settings.ts';
import type { Settings } from '../settings/settings.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import type { ListState } from '../contracts/storage.ts';
import { openBackends, type OpenBackends } from './backends.ts';
import { openBlobStore } from './blobs.ts';
import { walkLists } from './copy/walk.ts';
import { prepareSchemas } from './schemas.ts';

/**
 * Creates or upgrades what the backends need; answers with a line for each step done, or to be done.
 *
 * @throws Error in read-only mode, unless it is a dry run
 */
export async function migrate(settings: Settings, options: { readonly dryRun: boolean }): Promise<readonly string[]> {
  if (settings.get('readonly') && !options.dryRun) {
    throw new Error('readonly is set: storage and permissions must not be migrated from a read-only instance.');
  }
  const backends = await openBackends(settings, systemClock);
  try {
    const steps: string[] = [];
    const { cache, securityState, databases } = backends;
    for (const store of [cache, securityState, ...databases]) steps.push(...(await store.initializeSchema(options)));
    return steps;
  } finally {
    await backends.close();
  }
}

/** Empties the cache. Security state stays: emptying a cache must not reset limits on failed logins. */
export async function flushCache(settings: Settings): Promise<void> {
  await withBackends(settings, ({ cache }) => cache.flush());
}

export interface PurgeOptions {
  /** Kinds whose tombstones go; empty: all. */
  readonly kinds: readonly string[];
  /** Keep the newest so many of each list; excludes `before`. */
  readonly maxRetained?: number | undefined;
  /** Only those deleted before, in milliseconds since 1970 UTC. */
  readonly before?: number | undefined;
}

/** Lists whose tombstones one unit of work forgets, and about how many of them: nobody waits for long. */
const purgeLists = 20;
const purgeTombstones = 2000;

/** Forgets tombstones, never live objects, in short units of work; answers with their number. */
export function purgeDeleted(settings: Settings, { kinds, maxRetained, before }: PurgeOptions): Promise<number> {
  const limits = { ...(maxRetained === undefined ? {} : { maxRetained }), ...(before === undefined ? {} : { before }) };
  return withBackends(settings, async (backends) => {
    let count = 0;
    let lists: ListState[] = [];
    for await (const list of walkLists(backends.storage.reader)) {
      const mayHaveSome = list.dead > (maxRetained ?? 0) && (kinds.length === 0 || kinds.includes(list.kind));
      if (!mayHaveSome) continue;
      lists.push(list);
      if (lists.length < purgeLists) continue;
      count += await purgeFrom(backends, lists, limits);
      lists = [];
    }
    return count + (await purgeFrom(backends, lists, limits));
  });
}

/** Forgets tombstones of a few lists, in as many units of work as it takes. */
async function purgeFrom(
  backends: OpenBackends,
  lists: readonly ListState[],
  limits: { readonly maxRetained?: number; readonly before?: number },
): Promise<number> {
  let count = 0;
  let left = lists;
  while (left.length > 0) {
    const unit = await insist(backends, async ({ storage }) => {
      let purged = 0;
      for (const [index, { kind, parent }] of left.entries()) {
        const limit = purgeTombstones - purged;
        purged += await storage.purgeDeleted({ kind, parent, ...limits, limit });
        // There may be more in this list, and the next unit of work begins with it.
        if (purged >= purgeTombstones) return { purged, left: left.slice(index) };
      }
      return { purged, left: [] };
    });
    count += unit.purged;
    left = unit.left;
  }
  return count;
}

// A busy service may keep the lock of a SQLite file for a while; what was forgotten until then stays forgotten.
const insistentAttempts = 6;

/** Does a unit of work, again where others were in the way. */
export async function insist<T>(backends: OpenBackends, work: (writer: Writer) => Promise<T>): Promise<T> {
  const races = new Retry();
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(backends, work, races);
    } catch (error) {
      const passes = error instanceof BackendUnavailable && !error.isLasting && attempt < insistentAttempts;
      if (!passes && !races.isLost(error)) throw error;
      await races.pause();
    }
  }
}

/** Deletes a collection and everything below it, leaving no tombstones. */
export async function deleteCollection(
  settings: Settings,
  { bucket, collection }: { readonly bucket: string; readonly collection: string },
): Promise<'done' | 'readonly' | 'bucket missing' | 'collection missing'> {
  if (settings.get('readonly')) return 'readonly';
  const files: string[] = [];
  const outcome = await withBackends(settings, (backends) =>
    write(backends, async (writer) => {
      if (!isSafeId(bucket)) return 'bucket missing';
      if (!isSafeId(collection)) return 'collection missing';
      const parent = `/buckets/${bucket}`;
      if ((await writer.storage.get({ kind: 'bucket', parent: '' }, bucket)) === undefined) return 'bucket missing';
      const list = { kind: 'collection', parent };
      const deletion = await writer.storage.delete(list, collection, { keepTombstone: false });
      if (deletion === undefined) return 'collection missing';
      if (settings.get('includes').includes('quotas')) await subtractCollection(writer.storage, bucket, collection);
      const uri = `${parent}/collections/${collection}`;
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
        files.push(...(await unlinkCollection(writer.storage, { bucket, collection }, keepsOldFiles)));
      }
      return 'done';
    }),
  );
  if (files.length > 0) await deleteFiles(settings, files);
  return outcome;
}

/**
 * Deletes the attachments that no record has, of those that are old enough; answers with what was deleted, or would be.
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
    if (!dryRun) for (const { name } of unused) await store.delete(name);
    return unused;
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

/** Opens the backends for a piece of work and closes them after it. */
export async function withBackends<T>(settings: Settings, work: (backends: OpenBackends) => Promise<T>): Promise<T> {
  const backends = await openBackends(settings, systemClock);
  try {
    await prepareSchemas(backends, settings);
    return await work(backends);
  } finally {
    await backends.close();
  }
}

/** One transaction. */
export async function write<T>(
  backends: OpenBackends,
  work: (writer: Writer) => Promise<T>,
  { contended }: Pick<Retry, 'contended'> = { contended: [] },
): Promise<T> {
  const unit = new UnitOfWork(backends, silent, { contended });
  try {
    const result = await work(await unit.writer());
    await unit.end(true);
    return result;
  } finally {
    await unit.abandon();
  }
}

function ignore(): void {
  // Nothing runs after these commits, so there is nothing to log.
}

const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
