// Rebuilds the counters of quotas from the command line, bucket by bucket.
import { walk } from '../engine/walk.ts';
import { isOutdated, rebuildBucket, checkBucket, type CounterCheck } from '../plugins/quotas/rebuild.ts';
import type { Settings } from '../settings/settings.ts';
import { withBackends, write } from './units.ts';

export interface RebuildOptions {
  /** Whether nothing is written. */
  readonly dryRun: boolean;
  readonly onProgress: (objects: number, total: number | undefined) => void;
  /** Called for each counter that is, or was, wrong. */
  readonly onWrong: (check: CounterCheck) => void;
}

/**
 * Counts the contents of every bucket and collection.
 *
 * @returns the number of counters that are, or were, wrong
 */
export async function rebuildQuotas(
  settings: Settings,
  { dryRun, onProgress, onWrong }: RebuildOptions,
): Promise<number> {
  return withBackends(settings, async (backends) => {
    const { reader } = backends.storage;
    const kinds = await reader.countKinds();
    const total = ['group', 'collection', 'record'].reduce((sum, kind) => sum + (kinds.get(kind)?.objects ?? 0), 0);
    let counted = 0;
    let wrong = 0;
    for await (const buckets of walk(reader, { kind: 'bucket', parent: '' }, { filters: [] }, undefined)) {
      for (const { id } of buckets) {
        const start = counted;
        const onCounted = (objects: number): void => {
          counted += objects;
          onProgress(counted, total);
        };
        const found = dryRun
          ? (await checkBucket(reader, id, onCounted)).filter(isOutdated)
          : await write(backends, ({ storage }) => {
              counted = start;
              return rebuildBucket(storage, id, onCounted);
            });
        wrong += found.length;
        found.forEach(onWrong);
      }
    }
    return wrong;
  });
}
