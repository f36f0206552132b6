// A permission that records can store in addition to `read` and `write`, and the endpoint that requires it.
import { jsonResponse, ServiceError } from 'coffer';

/** @type {import('coffer').AddedPermission} */
export const publishPermission = {
  kind: 'record',
  name: 'publish',
  grantedBy: [
    { kind: 'record', entry: 'publish' },
    { kind: 'collection', entry: 'write' },
    { kind: 'bucket', entry: 'write' },
  ],
};

/**
 * `POST /buckets/{bucket_id}/collections/{collection_id}/records/{record_id}/publish`
 *
 * @param {import('coffer').PluginHost} host
 * @returns {import('coffer').Endpoint}
 */
export function publishEndpoint({ objects, clock }) {
  return {
    name: 'record-publication',
    path: '/buckets/{bucket_id}/collections/{collection_id}/records/{record_id}/publish',
    isResource: true,
    operations: {
      POST: {
        id: 'publish_record',
        async handle(context) {
          const { unit, caller, request, ids } = context;
          const place = { kind: 'record', ids };
          // First the permission: who lacks it is not told whether there is such a record.
          await objects.requireAllowed(context, place, 'publish');
          // Takes the way of every write: under the lock of the list, with hooks and events.
          const written = await objects.write({ unit, caller, request }, place, {
            attributes: (old) => (old === undefined ? undefined : { ...old.attributes, published: clock.now() }),
          });
          if (written === undefined) throw new ServiceError('missingObject');
          return jsonResponse(202, { published: ids['record_id'] ?? '' });
        },
      },
    },
  };
}
