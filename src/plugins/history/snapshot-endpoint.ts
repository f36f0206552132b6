// `GET /buckets/{bucket_id}/snapshot/collections/{collection_id}@{timestamp}`: the records of a collection at a past
// time.
import type { StorageReader } from '../../contracts/storage.ts';
import { invalidParameters, notFound, ServiceError } from '../../core/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import { idField } from '../../core/query/fields.ts';
import { newestFirst } from '../../core/query/sort.ts';
import { isAllowed, isNamed, requireAllowed, requireGranted } from '../../engine/access.ts';
import { anonymous } from '../../engine/caller.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint, type ParameterRule } from '../../engine/endpoint.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import type { Objects } from '../../engine/objects.ts';
import { listBody } from '../../engine/page-text.ts';
import { roomFor } from '../../engine/stored-work.ts';
import { responseExpansion } from '../../http/request-memory.ts';
import { ChangeLog } from './change-log.ts';
import { bucketUri, recordedKinds } from './object-uris.ts';
import { changesToRecord, type RecorderOptions } from './recorder.ts';
import { readSnapshot, SnapshotTooLarge } from './snapshot.ts';

const instant: ParameterRule = {
  accepts: (text) => /^\d{1,20}$/.test(text),
  form: 'milliseconds since 1970',
};

/** @param maxBytes maximum size of all records in a response */
export function snapshotEndpoint(objects: Objects, scope: RecorderOptions, maxBytes: number): Endpoint {
  const handle = (context: Context): Promise<ServiceResponse> => respond({ objects, scope, maxBytes }, context);
  const requireAccess = (context: Context): Promise<void> =>
    requireGranted([objects.kind('record').rules.readList], context);
  const exposes = ['Cache-Control', 'Expires', 'Pragma'];
  return {
    name: 'history-snapshot',
    tag: 'history',
    path: '/buckets/{bucket_id}/snapshot/collections/{collection_id}@{timestamp}',
    parameters: { timestamp: instant },
    isResource: true,
    operations: forReading('get_history_snapshot', { handle, requireAccess, describe }, exposes),
  };
}

function describe(): OperationDescription {
  const record = {
    type: 'object',
    properties: { id: { type: 'string' }, last_modified: { type: 'integer' } },
    required: ['id', 'last_modified'],
    additionalProperties: true,
  };
  const schema = objectWith({ data: { type: 'array', items: record } });
  return {
    summary: 'Returns the records of a collection as they were at a moment.',
    responses: { 200: { description: 'The records.', schema } },
    errors: [404, 413],
  };
}

interface SnapshotOptions {
  readonly objects: Objects;
  readonly scope: RecorderOptions;
  readonly maxBytes: number;
}

async function respond({ objects, scope, maxBytes }: SnapshotOptions, context: Context): Promise<ServiceResponse> {
  const { caller, ids, issues, parameters, unit } = context;
  const { reader } = unit;
  const records = objects.kind('record');
  // Past records require the same permission as current ones.
  await requireAllowed(records.rules.readList, caller, reader, ids);
  if (issues.length > 0) throw invalidParameters(issues);
  // Larger timestamps are not exact numbers.
  const at = Math.min(Number(parameters['timestamp']), Number.MAX_SAFE_INTEGER);
  const collectionId = ids['collection_id']!;
  const { storage } = reader;
  const collections = objects.kind('collection').listKey(ids, anonymous);
  const exists = (await storage.get(collections, collectionId, roomFor(context, 'show'))) !== undefined;
  const history = objects.kind('history').listKey(ids, anonymous);
  // A batch is recorded at its end. Until then its changes are not in the history.
  const done = unit.changes.filter(({ kind }) => recordedKinds.includes(kind));
  const unrecorded = changesToRecord(scope, done).get(bucketUri(ids)) ?? [];
  const requireRoom = roomFor(context, 'show');
  const changes = new ChangeLog({ storage, history, collectionId, requireRoom }, unrecorded);
  const list = records.listKey(ids, anonymous);
  const reserve = (bytes: number): void => context.request.memory?.admitWhole(bytes * responseExpansion);
  // Entries about collections may be trimmed before those about records.
  const extent = (await seesEverything(objects, context))
    ? undefined
    : { after: await readHorizon(storage, list), isCreationRequired: scope.trim.maxCount > 0 };
  const source = { storage, records: list, exists, changes, extent, maxBytes, requireRoom, reserve };
  const pieces = await readSnapshot(source, at).catch(rethrow);
  if (pieces === undefined) throw notFound('missingParent', 'collection', collectionId);
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-cache, no-store' },
    body: listBody('{"data":[', pieces),
  };
}

/** Whether the access of the caller does not depend on the collection. */
async function seesEverything(objects: Objects, { caller, ids, unit }: Context): Promise<boolean> {
  if (await isAllowed(objects.kind('history').rules.readList, caller, unit.reader, ids)) return true;
  return isNamed(objects.kind('record').rules.readList, caller);
}

/**
 * Returns the timestamp up to which records may be those of an earlier collection, which may have had other readers. The history
 * need not have its deletion: some are not recorded. On the other hand, imported lists have no horizon.
 */
async function readHorizon(storage: StorageReader, records: ListKey): Promise<number> {
  const nothing: PageQuery = { filters: [{ field: idField, operator: 'in', values: [] }], sort: newestFirst, limit: 1 };
  return (await storage.listAll(records, nothing)).horizon;
}

function rethrow(error: unknown): never {
  if (!(error instanceof SnapshotTooLarge)) throw error;
  const message = 'The records are too large for one response. Read the history of the bucket in pages instead.';
  throw new ServiceError('requestTooLarge', { message, cause: error });
}
