// `GET /operations/quotas`: usage and limits of buckets and collections, for operators.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListParent } from '../../core/objects/uris.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import { forReading, plainText, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { deletionHeaders } from '../../engine/list-parameters.ts';
import {
  describedToken,
  describeLimit,
  limitOf,
  nextPageHeader,
  positionOf,
  readPlainParameters,
} from '../../engine/plain-parameters.ts';
import { bucketCounter, collectionCounter, counterKind, parseUsage } from './counters.ts';
import type { Limits, QuotaLimits } from './limits.ts';

const maxPage = 100;
const pageByDefault = 50;
/** Maximum number of lists that a request reads to find counters. */
const maxLists = 1000;

type Position = readonly [parent: ListParent, kind: string];

/** Returns the endpoint, without a check of access. */
export function usageEndpoint(limits: QuotaLimits, versionPrefix: string): Endpoint {
  const handle = async (context: Context): Promise<ServiceResponse> => {
    const { _limit = pageByDefault, _token } = readPlainParameters(context, {
      _limit: limitOf(maxPage),
      _token: positionOf(isPosition),
    });
    const { storage } = context.unit.reader;
    const { counters, next } = await findCounters(storage, _token, _limit);
    const usages = await Promise.all(counters.map((uri) => readUsage(storage, limits, uri)));
    const data = usages.filter((usage) => usage !== undefined);
    return jsonResponse(200, { data }, nextPageHeader(context, versionPrefix, next));
  };
  return {
    name: 'operations-quotas',
    tag: 'operations',
    path: '/operations/quotas',
    isResource: false,
    operations: forReading('get_quotas', { handle, describe }, ['Next-Page']),
  };
}

function isPosition(value: JsonValue): value is Position {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    value.every((part) => typeof part === 'string' && plainText.accepts(part))
  );
}

/** Finds the next objects with a counter, in the order of their URIs. */
async function findCounters(
  storage: StorageReader,
  after: Position | undefined,
  limit: number,
): Promise<{ readonly counters: readonly ListParent[]; readonly next: Position | undefined }> {
  const from: ListKey | undefined = after === undefined ? undefined : { parent: after[0], kind: after[1] };
  const lists = await storage.lists(from, maxLists);
  const counters: ListParent[] = [];
  for (const { kind, parent, live } of lists) {
    if (kind !== counterKind || live === 0) continue;
    counters.push(parent);
    if (counters.length === limit) return { counters, next: [parent, kind] };
  }
  const last = lists.length < maxLists ? undefined : lists.at(-1);
  return { counters, next: last === undefined ? undefined : [last.parent, last.kind] };
}

/** Reads the counter of a bucket or a collection; returns `undefined` if it was deleted in the meantime. */
async function readUsage(
  storage: StorageReader,
  limits: QuotaLimits,
  uri: ListParent,
): Promise<JsonObject | undefined> {
  const [, , bucket = '', , collection] = uri.split('/');
  const isBucket = collection === undefined;
  const counter = await storage.get({ kind: counterKind, parent: uri }, isBucket ? bucketCounter : collectionCounter);
  if (counter === undefined) return undefined;
  const { collections, records, size } = parseUsage(counter);
  return {
    uri,
    collections: isBucket ? collections : null,
    records,
    size_bytes: size,
    limits: formatLimits(isBucket ? limits.ofBucket(bucket) : limits.ofCollection(bucket, collection)),
  };
}

function formatLimits({ maxBytes, maxItems, maxBytesPerItem }: Limits): JsonObject {
  return {
    max_bytes: maxBytes ?? null,
    max_items: maxItems ?? null,
    max_bytes_per_item: maxBytesPerItem ?? null,
  };
}

function describe(): OperationDescription {
  const count = { type: 'integer', minimum: 0 };
  const optional = { type: ['integer', 'null'], minimum: 0 };
  const limits = {
    type: 'object',
    properties: { max_bytes: optional, max_items: optional, max_bytes_per_item: optional },
  };
  const uri = { type: 'string' };
  const items = objectWith({ uri, collections: optional, records: count, size_bytes: count, limits });
  const schema = objectWith({ data: { type: 'array', items } });
  return {
    summary: 'Returns usage and limits of buckets and collections.',
    parameters: [describeLimit(maxPage, pageByDefault), describedToken],
    responses: { 200: { description: 'The usage.', schema, headers: deletionHeaders } },
  };
}
