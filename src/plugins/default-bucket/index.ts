// Plugin `default_bucket`: `/buckets/default` is an alias of a bucket owned by the caller. The bucket and its
// collections are created on first use.
import { getKey, isJsonObject, setKey } from '../../base/json.ts';
import type { MutableJsonObject } from '../../base/json.ts';
import { TransactionConflict } from '../../contracts/errors.ts';
import { invalidParameters, notFound, ServiceError } from '../../core/errors.ts';
import type { ObjectId } from '../../core/objects/object-id.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { storedUserId } from '../../core/permissions/principals.ts';
import { isAllowed, isConfirmed, refusal } from '../../engine/access.ts';
import { RequestBody, type ServiceRequest } from '../../engine/exchange.ts';
import type { Actor, ObjectPlace, Objects } from '../../engine/objects.ts';
import { roomFor } from '../../engine/stored-work.ts';
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
          description: 'Gives every user a personal bucket at /buckets/default, created on first use.',
          url: host.documentationUrl('default_bucket'),
        },
      },
      userInfo: ({ userId }) => (userId === undefined ? {} : { bucket: personalBucketId(secret, userId) }),
      aliases: [{ path: alias, resolve: (request) => resolve(request, secret, host) }],
      // Fails if the kinds of the alias do not exist.
      start() {
        host.objects.kind('collection');
        personalId(host, personalBucketId(secret, storedUserId('')));
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
  // Any use creates the bucket, so that a read-only service refuses reads too.
  if (host.settings.get('readonly')) throw new ServiceError('methodNotAllowed', { headers: { Allow: 'OPTIONS' } });
  const below = path.slice(alias.length);
  const [, resource, childId = '', ...rest] = below.split('/');
  if (childId === 'default' || rest.at(-1) === 'default') throw defaultIsNoId('path');
  const id = personalId(host, personalBucketId(secret, caller.userId));
  const prepare = async (): Promise<void> => {
    if (!creating.includes(request.method)) return requireBucket({ unit, request }, id, below);
    const actor = { unit, caller, request };
    const bucket = host.objects.place('bucket', { bucket_id: id });
    if (!(request.method === 'PUT' && below === '')) await createMissingBucket(host.objects, actor, bucket);
    if (resource === 'collections' && childId !== '' && !(request.method === 'PUT' && rest.length === 0)) {
      const collection = host.objects.place('collection', { bucket_id: id, collection_id: childId });
      await createMissingCollection(host.objects, actor, collection);
    }
  };
  const loading = request.body.load();
  if (loading !== undefined) await loading;
  const aliased = replaceAliasInBody(request, below === '' ? id : undefined);
  return { path: `/buckets/${id}${below}`, request: aliased, prepare };
}

/** @throws Error when the kind of buckets does not accept ids of personal buckets */
function personalId({ objects }: PluginHost, text: string): ObjectId {
  const id = objects.kind('bucket').ids.parse(text);
  if (id === undefined)
    throw new Error('bucket_id_generator and max_id_length must accept the ids of personal buckets');
  return id;
}

/**
 * Creates the bucket unless it exists. Permission to create buckets is not needed, because the plugin itself grants the
 * personal bucket. Reads do not open a transaction.
 *
 * @throws ServiceError forbidden by an authorization policy
 */
async function createMissingBucket(objects: Objects, actor: Actor, place: ObjectPlace): Promise<void> {
  if ((await objects.find(actor, place)) !== undefined) return;
  const { caller, unit } = actor;
  if (!(await isConfirmed(objects.kind('bucket').rules.create, caller, unit.reader, place.ids))) throw refusal(caller);
  await createOwned(objects, actor, place);
}

/**
 * Creates the collection unless it exists, or the caller has no permission to create it: the owner of the id may have deleted
 * the bucket, and another user may have created it again.
 */
async function createMissingCollection(objects: Objects, actor: Actor, place: ObjectPlace): Promise<void> {
  if ((await objects.find(actor, place)) !== undefined) return;
  const { caller, unit } = actor;
  if (!(await isAllowed(objects.kind('collection').rules.create, caller, unit.reader, place.ids))) return;
  await createOwned(objects, actor, place);
}

/**
 * Creates the object, without attributes and owned by the caller. Schemas of the bucket do not apply.
 *
 * @throws TransactionConflict when the bucket was deleted in the meantime, so that a retry creates it again
 */
async function createOwned(objects: Objects, actor: Actor, place: ObjectPlace): Promise<void> {
  const { caller } = actor;
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

async function requireBucket(
  { unit, request }: Pick<Actor, 'unit' | 'request'>,
  id: ObjectId,
  below: string,
): Promise<void> {
  if ((await unit.reader.storage.get(buckets, id, roomFor({ request }, 'show'))) !== undefined) return;
  throw notFound(below === '' ? 'missingObject' : 'missingParent', 'bucket', id);
}

/** Replaces the id `default` in the body of a request to the bucket itself, and refuses it in other requests. */
function replaceAliasInBody(request: ServiceRequest, bucketId: string | undefined): ServiceRequest {
  const body = request.body.parseQuietly();
  const data = isJsonObject(body) ? getKey(body, 'data') : undefined;
  if (!isJsonObject(body) || !isJsonObject(data) || getKey(data, 'id') !== 'default') return request;
  if (bucketId === undefined) throw defaultIsNoId('body');
  const replaced: MutableJsonObject = { ...body };
  setKey(replaced, 'data', { ...data, id: bucketId });
  return { ...request, body: RequestBody.ofValue(replaced) };
}

function defaultIsNoId(location: 'path' | 'body'): ServiceError {
  const name = location === 'path' ? null : 'data.id';
  return invalidParameters([{ location, name, description: 'default is not a valid id inside the personal bucket' }]);
}
