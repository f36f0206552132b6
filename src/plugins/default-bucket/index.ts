// The personal bucket: `/buckets/default` is an alias of a bucket that belongs to the caller. The bucket and its collections
// are created when they are first used.
import { getKey, isJsonObject, JsonSyntaxError, setKey } from '../../base/json.ts';
import type { JsonObject, MutableJsonObject } from '../../base/json.ts';
import { TransactionConflict } from '../../contracts/errors.ts';
import { invalidParameters, notFound, ServiceError } from '../../core/errors.ts';
import type { ObjectId } from '../../core/objects/object-id.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { isConfirmed, refusal } from '../../engine/access.ts';
import { RequestBody, type ServiceRequest } from '../../engine/exchange.ts';
import type { Actor, ObjectPlace, Objects } from '../../engine/objects.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import type { AliasedRequest, AliasRequest } from '../../http/alias.ts';
import { definePlugin, type PluginHost } from '../../http/plugin.ts';
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
      // Fails at start rather than at the first request.
      start() {
        host.objects.kind('collection');
        personalId(host, personalBucketId(secret, ''));
      },
    };
  },
});

async function resolve(
  { request, path, unit, caller }: AliasRequest,
  secret: string,
  host: PluginHost,
): Promise<AliasedRequest> {
  if (caller.userId === undefined) throw refusal(caller);
  // Any use may create the bucket, so in read-only mode not even reading is allowed.
  if (host.settings.get('readonly')) throw new ServiceError('methodNotAllowed', { headers: { Allow: 'OPTIONS' } });
  const below = path.slice(alias.length);
  const [, resource, childId = '', ...rest] = below.split('/');
  if (childId === 'default' || rest.at(-1) === 'default') throw defaultIsNoId('path');
  const id = personalId(host, personalBucketId(secret, caller.userId));
  const prepare = async (): Promise<void> => {
    if (!creating.includes(request.method)) return requireBucket(unit, id, below);
    const actor = { unit, caller, request };
    const bucket = host.objects.place('bucket', { bucket_id: id });
    if (!(request.method === 'PUT' && below === '')) await createIfMissing(host.objects, actor, bucket);
    if (resource === 'collections' && childId !== '' && !(request.method === 'PUT' && rest.length === 0)) {
      const collection = host.objects.place('collection', { bucket_id: id, collection_id: childId });
      await createIfMissing(host.objects, actor, collection);
    }
  };
  const loading = request.body.load();
  if (loading !== undefined) await loading;
  const aliased = replaceAliasInBody(request, below === '' ? id : undefined);
  return { path: `/buckets/${id}${below}`, request: aliased, prepare };
}

/**
 * Returns the text as the id of a bucket.
 *
 * @throws Error when buckets do not accept such ids
 */
function personalId({ objects }: PluginHost, text: string): ObjectId {
  const id = objects.kind('bucket').ids.parse(text);
  if (id === undefined)
    throw new Error('bucket_id_generator and max_id_length have to accept the ids of personal buckets');
  return id;
}

/**
 * Creates the object, without attributes and owned by the caller, unless it exists. Reads do not open a transaction.
 * Schemas of the bucket and rights to create do not apply: the plugin itself grants the personal bucket.
 *
 * @throws ServiceError forbidden; TransactionConflict when the bucket was deleted in the meantime, so that a new attempt
 *   creates it again
 */
async function createIfMissing(objects: Objects, actor: Actor, place: ObjectPlace): Promise<void> {
  if ((await objects.find(actor, place)) !== undefined) return;
  const { caller, unit } = actor;
  const { create } = objects.kind(place.kind).rules;
  // An authorization policy has the last word.
  if (!(await isConfirmed(create, caller, unit.reader, place.ids))) throw refusal(caller);
  try {
    await objects.write(actor, place, {
      attributes: (old) => (old === undefined ? {} : undefined),
      permissions: () => ({ write: [caller.principal] }),
      isVerbatim: true,
      isByService: false,
    });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.key !== 'missingParent') throw error;
    throw new TransactionConflict('the bucket was deleted while an object in it was created', { cause: error });
  }
}

async function requireBucket({ reader }: UnitOfWork, id: ObjectId, below: string): Promise<void> {
  if ((await reader.storage.get(buckets, id)) !== undefined) return;
  throw notFound(below === '' ? 'missingObject' : 'missingParent', 'bucket', id);
}

/** Replaces `default` as the id in the body of a request to the bucket itself. Elsewhere that id is refused. */
function replaceAliasInBody(request: ServiceRequest, bucketId: string | undefined): ServiceRequest {
  const body = parseQuietly(request.body);
  const data = body === undefined ? undefined : getKey(body, 'data');
  if (body === undefined || !isJsonObject(data) || getKey(data, 'id') !== 'default') return request;
  if (bucketId === undefined) throw defaultIsNoId('body');
  const replaced: MutableJsonObject = { ...body };
  setKey(replaced, 'data', { ...data, id: bucketId });
  return { ...request, body: RequestBody.ofValue(replaced) };
}

/** Returns `undefined` for a body that is not a JSON object; the engine reports it once access is granted. */
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
