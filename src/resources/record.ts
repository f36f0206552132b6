// Records: schemaless objects in collections.
import { getKey } from '../base/json.ts';
import { uriBelow } from '../core/objects/uris.ts';
import type { Context } from '../engine/context.ts';
import type { ResourceKind } from '../engine/kind.ts';
import { findToParse } from '../engine/stored-work.ts';
import type { ResourceOptions } from './options.ts';
import { validateRecord } from './schema-validation.ts';

export function recordKind(options: ResourceOptions): ResourceKind {
  return {
    name: 'record',
    path: '/buckets/{bucket_id}/collections/{collection_id}/records',
    flavour: 'shareable',
    parent: 'collection',
    idGenerator: 'RelaxedUUID',
    indexes: 'parent',
    permissions: {
      names: ['read', 'write'],
      granted: {
        write: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'collection', entry: 'write' },
          { kind: 'record', entry: 'write' },
        ],
        read: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'read' },
          { kind: 'collection', entry: 'write' },
          { kind: 'collection', entry: 'read' },
          { kind: 'record', entry: 'write' },
          { kind: 'record', entry: 'read' },
        ],
      },
    },
    ...(options.validatesSchemas ? { beforeWrite: validateRecord } : {}),
    cacheSeconds: (context) => recordCacheSeconds(options, context),
  };
}

/** Returns the most specific setting, or `cache_expires` of the collection when that is greater. */
async function recordCacheSeconds({ cacheSeconds }: ResourceOptions, context: Context): Promise<number | undefined> {
  const { bucket_id: bucket = '', collection_id: collection = '' } = context.ids;
  const bySetting = recordLifetime(cacheSeconds, bucket, collection);
  const list = { kind: 'collection', parent: uriBelow('', 'buckets', bucket) };
  const stored = await findToParse(context, list, collection);
  const byCollection = stored === undefined ? undefined : getKey(stored.attributes, 'cache_expires');
  return typeof byCollection === 'number' ? Math.max(bySetting ?? -1, byCollection) : bySetting;
}

/** Returns the most specific setting for the records of a collection; a negative number means no caching. */
export function recordLifetime(
  cacheSeconds: ResourceOptions['cacheSeconds'],
  bucket: string,
  collection: string,
): number | undefined {
  return (
    cacheSeconds(`${bucket}.${collection}.record_cache_expires_seconds`) ??
    cacheSeconds(`${bucket}.record_cache_expires_seconds`) ??
    unlessZero(cacheSeconds('record_cache_expires_seconds')) ??
    cacheSeconds(`${bucket}_${collection}_record_cache_expires_seconds`) ??
    cacheSeconds(`${bucket}_record_cache_expires_seconds`)
  );
}

/** Maps 0 to -1: for all records it has the effect of no setting, but still overrides the settings with older names. */
function unlessZero(seconds: number | undefined): number | undefined {
  return seconds === 0 ? -1 : seconds;
}
