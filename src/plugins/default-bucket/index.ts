// The personal bucket: `/buckets/default` and everything below it stand for a bucket that belongs to the caller and
// comes into being, with its collections, when it is first used.
import { getKey, isJsonObject, JsonSyntaxError, setKey } from '../../base/json.ts';
import type { JsonObject, MutableJsonObject } from '../../base/json.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { refusal } from '../../engine/access.ts';
import { RequestBody, type ServiceRequest } from '../../engine/exchange.ts';
import type { AliasedRequest, AliasRequest } from '../../http/alias.ts';
import { definePlugin, type PluginHost } from '../../http/plugin.ts';
import { createIfMissing } from './implicit.ts';
import { personalBucketId, personalBucketSecret } from './personal-bucket.ts';

const alias = '/buckets/default';
const buckets: ListKey = { kind: 'bucket', parent: '' };
const creating: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH'];

export const defaultBucket = definePlugin({
  name: 'default_bucket',
  setup(host) {
    const secret = personalBucketSecret(host.settings);
    return {
      capabilities: {
        default_bucket: {
          description: 'Every user has a personal bucket at /buckets/default, created when first used.',
          url: host.documentationUrl('default_bucket'),
        },
      },
      userInfo: ({ userId }) => (userId === undefined ? {} : { bucket: personalBucketId(secret, userId) }),
      aliases: [{ path: alias, resolve: (request) => resolve(request, secret, host) }],
      // There is nothing personal about buckets that are not there.
      start: () => void host.objects.kind('collection'),
    };
  },
});

async function resolve(
  { request, path, session, caller }: AliasRequest,
  secret: string,
  host: PluginHost,
): Promise<AliasedRequest> {
  if (caller.userId === undefined) throw refusal(caller);
  // Using it creates it, so that not even reading is allowed.
  if (host.settings.get('readonly')) throw new ServiceError('methodNotAllowed', { headers: { Allow: 'OPTIONS' } });
  const id = personalBucketId(secret, caller.userId);
  const below = path.slice(alias.length);
  const [, resource, childId, ...rest] = below.split('/');
  const uri = `/buckets/${id}`;
  const ids = { bucket_id: id };
  const actor = { session, caller, request };
  if (childId === 'default' || rest.at(-1) === 'default') throw defaultIsNoId('path');
  if (creating.includes(request.method)) {
    const isCollection = resource === 'collections' && childId !== undefined && childId !== '';
    const maxIdLength = host.settings.get('max_id_length');
    if (isCollection && (!host.objects.kind('collection').ids.match(childId) || childId.length > maxIdLength)) {
      throw invalidParameters([{ location: 'path', name: null, description: 'this id is not allowed' }]);
    }
    if (!(request.method === 'PUT' && below === '')) {
      const rule = host.objects.kind('bucket').rules.create;
      await createIfMissing(actor, { list: buckets, id, uri, rule, ids });
    }
    if (isCollection && !(request.method === 'PUT' && rest.length === 0)) {
      const list: ListKey = { kind: 'collection', parent: uri };
      await createIfMissing(actor, {
        list,
        id: childId,
        uri: `${uri}/collections/${childId}`,
        rule: host.objects.kind('collection').rules.create,
        ids: { ...ids, collection_id: childId },
        parent: { list: buckets, id },
      });
    }
  } else if ((await session.reader.storage.get(buckets, id)) === undefined) {
    throw new ServiceError(below === '' ? 'missingObject' : 'missingParent', {
      details: { id, resource_name: 'bucket' },
    });
  }
  const loading = request.body.load();
  if (loading !== undefined) await loading;
  return { path: uri + below, request: replaceAliasInBody(request, below === '' ? id : undefined) };
}

/** `default` as an id in the body means the bucket itself, where it is addressed, and nothing anywhere else. */
function replaceAliasInBody(request: ServiceRequest, bucketId: string | undefined): ServiceRequest {
  const body = parseQuietly(request.body);
  const data = body === undefined ? undefined : getKey(body, 'data');
  if (body === undefined || !isJsonObject(data) || getKey(data, 'id') !== 'default') return request;
  if (bucketId === undefined) throw defaultIsNoId('body');
  const replaced: MutableJsonObject = { ...body };
  setKey(replaced, 'data', { ...data, id: bucketId });
  return { ...request, body: RequestBody.ofValue(replaced) };
}

/** A body that is no JSON is for the engine to refuse, after it has granted access. */
function parseQuietly(body: RequestBody): JsonObject | undefined {
  if (body.isEmpty) return undefined;
  try {
    const value = body.parse();
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function defaultIsNoId(location: 'path' | 'body'): ServiceError {
  const name = location === 'path' ? null : 'data.id';
  return invalidParameters([{ location, name, description: 'default is no id inside the personal bucket' }]);
}
