// Loading and removing the sample data through the public API, in batches.
import type { Api } from '../../../core/api.ts';
import { runBatches, type BatchEntry, type BatchOptions, type BatchResult } from '../../../core/batch.ts';
import { countObjects, readObject } from '../../../core/objects.ts';
import { kinds, listPathOf, pathOf } from '../../../core/places.ts';
import type { Service } from '../../../core/service.ts';
import { groupPath, sampleChanges, sampleCollections, samplePlace, type SampleObject } from './objects.ts';
import { isSample, origin, originKey } from './origin.ts';

const bucketPath = pathOf(samplePlace);

export interface SampleCaller {
  readonly api: Api;
  readonly service: Service;
}

export type SampleOptions = Omit<BatchOptions, 'batchLimit'> & {
  /** Called once with the number of requests. */
  readonly onTotal: (total: number) => void;
};

/**
 * Creates the sample data. Objects that exist already stay as they are, so an interrupted load can be continued.
 *
 * @throws Error when the bucket exists and has another origin
 */
export async function loadSample(
  { api, service }: SampleCaller,
  { onTotal, ...options }: SampleOptions,
): Promise<readonly BatchResult[]> {
  const isNew = await createBucket(api);
  const collections = sampleCollections(service.capabilities);
  const members = service.userId === undefined ? [] : [service.userId];
  const creations: readonly SampleObject[] = [
    { path: groupPath, data: { members } },
    ...collections.flatMap(({ object, records }) => [object, ...records]),
  ];
  const entries = [
    ...creations.map((object) => entryOf('PUT', object, { 'If-None-Match': '*' })),
    ...(isNew ? sampleChanges().map((object) => entryOf('PATCH', object)) : []),
  ];
  onTotal(entries.length);
  const results = await runBatches(api, entries, { batchLimit: service.batchLimit, ...options });
  // `changed` is what exists already.
  return results.filter(({ status }) => status === 'refused' || status === 'open');
}

/** Creates the bucket. Returns whether it is new. */
async function createBucket(api: Api): Promise<boolean> {
  const { status } = await api.request('PUT', bucketPath, {
    body: JSON.stringify({ data: { [originKey]: origin } }),
    headers: { 'If-None-Match': '*' },
    allowed: [403, 412],
  });
  if (status < 300) return true;
  if (status === 403) throw new Error('You may not create buckets here. Nothing is loaded.');
  const found = await api.request('GET', bucketPath, { allowed: [403, 404] });
  if (found.status === 200 && isSample(readObject(found).data)) return false;
  throw new Error(
    found.status === 200
      ? 'A bucket "sample" exists already, and the console did not create it. It stays as it is, and nothing is loaded.'
      : 'Another user has a bucket "sample". It stays as it is, and nothing is loaded.',
  );
}

export interface Removal {
  readonly failed: readonly BatchResult[];
  /** Whether the bucket has objects that were not loaded, and stays because of them. */
  readonly isKept: boolean;
}

/** Deletes the objects that were loaded. Others stay, with the collection and the bucket around them. */
export async function removeSample(
  { api, service }: SampleCaller,
  { onTotal, ...options }: SampleOptions,
): Promise<Removal> {
  const collections = sampleCollections(service.capabilities);
  const paths = [...collections.flatMap(({ records }) => records.map(({ path }) => path)), groupPath];
  onTotal(paths.length);
  const results = await runBatches(
    api,
    paths.map((path) => ({ name: nameOf(path), method: 'DELETE', path })),
    { batchLimit: service.batchLimit, ...options },
  );
  const failed = results.filter(({ status }) => status !== 'done');
  if (failed.length > 0) return { failed, isKept: true };
  const all = new URLSearchParams();
  for (const { path } of collections) {
    const { status } = await api.request('HEAD', path, { allowed: [404] });
    if (status !== 404 && (await countObjects(api, `${path}/${kinds.record.plural}`, all)) === 0) {
      await api.request('DELETE', path, { allowed: [404] });
    }
  }
  const counts = [
    await countObjects(api, listPathOf(samplePlace, kinds.collection), all),
    await countObjects(api, listPathOf(samplePlace, kinds.group), all),
  ];
  const isKept = counts.some((count) => count !== 0);
  if (!isKept) await api.request('DELETE', bucketPath, { allowed: [404] });
  return { failed: [], isKept };
}

function entryOf(
  method: 'PUT' | 'PATCH',
  { path, data, permissions }: SampleObject,
  headers: Readonly<Record<string, string>> = {},
): BatchEntry {
  return { name: nameOf(path), method, path, headers, body: JSON.stringify({ data, permissions }) };
}

/** Returns the path of an object without that of the bucket. */
function nameOf(path: string): string {
  return path.slice(bucketPath.length + 1);
}
