// How many records the shown collections have: one HEAD for each, in batches.
import { runBatches } from '../../core/batch.ts';
import { displayText, memberText } from '../../core/json-text.ts';
import { below, kinds, listPathOf, type Place } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';

/** Returns the numbers of records by collection. Lists that the user may not read are left out. */
export function useRecordCounts(bucket: Place, collections: readonly string[]): ReadonlyMap<string, number> {
  const { api, service } = useApp();
  const { value } = useLoad(
    async (signal) => {
      const entries = collections.map((id) => ({
        name: id,
        method: 'HEAD',
        path: listPathOf(below(bucket, kinds.collection, id), kinds.record),
      }));
      const results = await runBatches(api, entries, { batchLimit: service.batchLimit, signal });
      return new Map(
        results.flatMap(({ name, response = '{}' }) => {
          const headers = memberText(response, 'headers') ?? '{}';
          const total = memberText(headers, 'Total-Objects');
          return total === undefined ? [] : [[name, Number(displayText(total))] as const];
        }),
      );
    },
    `${listPathOf(bucket, kinds.collection)} ${collections.join(' ')}`,
  );
  return value ?? new Map();
}
