// The changes of all buckets as one time line: a few entries of each bucket, merged by time.
import type { Api } from '../../core/api.ts';
import { runBatches } from '../../core/batch.ts';
import { displayText, elementsOf, memberText } from '../../core/json-text.ts';
import { loadPage } from '../../core/objects.ts';
import { below, kinds } from '../../core/places.ts';
import { historyPathOf, historyQuery, readEntry, type Entry } from './entries.ts';

export const bucketLimit = 100;
const pageSize = 20;
/** Without the versions, which may be long. They are loaded when an entry is opened. */
const fields = 'id,uri,resource_name,action,user_id,last_modified';

export interface AllChanges {
  /** Newest first. */
  readonly entries: readonly Entry[];
  /** `_before` of the entries that follow; `undefined` at the end. */
  readonly next: string | undefined;
  /** Whether other buckets may have changes that are not shown. */
  readonly isPartial: boolean;
}

export interface AllChangesOptions {
  /** Filters, and `_before`: only earlier entries. */
  readonly address: URLSearchParams;
  readonly batchLimit: number;
  readonly signal: AbortSignal;
}

/** Returns the newest changes in the buckets that the user may see. Histories that the user may not read are left out. */
export async function loadAllChanges(
  api: Api,
  { address, batchLimit, signal }: AllChangesOptions,
): Promise<AllChanges> {
  const buckets = await loadPage(api, 'buckets', `_limit=${bucketLimit}&_fields=id`, signal);
  const query = historyQuery([], address);
  const before = address.get('_before') ?? '';
  if (before !== '') query.set('lt_last_modified', before);
  // One more than is shown says whether others follow.
  for (const [name, value] of [
    ['_sort', '-last_modified'],
    ['_limit', String(pageSize + 1)],
    ['_fields', fields],
  ] as const) {
    query.set(name, value);
  }
  const requests = buckets.rows.map((row) => {
    const id = displayText(memberText(row, 'id') ?? '""');
    return { name: id, method: 'GET', path: `${historyPathOf(below([], kinds.bucket, id))}?${query.toString()}` };
  });
  const results = await runBatches(api, requests, { batchLimit, signal });
  const wrong = results.find(({ status, code }) => status === 'open' || (status === 'refused' && code === 400));
  if (wrong !== undefined) throw new Error(wrong.message);
  const found = results
    .filter(({ status }) => status === 'done')
    .flatMap(({ response = '{}' }) => elementsOf(memberText(memberText(response, 'body') ?? '{}', 'data') ?? '[]'))
    .map(readEntry)
    .toSorted((a, b) => Number(b.moment) - Number(a.moment));
  // Two buckets may have changes of the same instant, which belong to the same page.
  const last = found[pageSize - 1]?.moment;
  const entries = found.filter(({ moment }) => last === undefined || Number(moment) >= Number(last));
  return {
    entries,
    next: entries.length < found.length ? last : undefined,
    isPartial: buckets.next !== undefined,
  };
}
