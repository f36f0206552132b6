// `GET …/changeset`: a consistent view of the attributes of a collection and its changed records, in one cacheable
// response.
import { formatJson } from '../../base/json.ts';
import { invalidParameters, notFound, ServiceError } from '../../core/errors.ts';
import type { PageText } from '../../contracts/storage.ts';
import { formatHttpDate } from '../../core/objects/etag.ts';
import { entryValue, type StoredObject } from '../../core/objects/stored.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import type { Filter, PageQuery } from '../../core/query/ast.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import { parseParameters } from '../../core/query/parameters.ts';
import { requireAllowed, requireGranted } from '../../engine/access.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, queryParameter, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import type { ResponseHeaders, ServiceResponse } from '../../engine/exchange.ts';
import { listParameters } from '../../engine/list-parameters.ts';
import { noteMissedDeletions, resyncHeader } from '../../engine/missed-deletions.ts';
import { listBody } from '../../engine/page-text.ts';
import type { EngineOptions } from '../../engine/scope.ts';
import { findToParse } from '../../engine/stored-work.ts';
import { responseExpansion } from '../../http/request-memory.ts';
import { cachingOf, parameter, readSince, redirect, respondWithoutChanges, withoutQuotes } from './caching.ts';
import { monitorCollection } from './monitor-list.ts';
import { newestTimestamp } from './monitored-collections.ts';
import type { ChangesService } from './service.ts';

/** Maximum number of reads while the collection keeps changing. */
const maxAttempts = 5;

/** Minimum size that an entry counts: that of a tombstone, whose text the limit of a page does not count. */
const minEntryBytes = 100;

export function changesetEndpoint(service: ChangesService): Endpoint {
  const handle = (context: Context): Promise<ServiceResponse> => readChangeset(service, context);
  const requireAccess = (context: Context): Promise<void> =>
    requireGranted([service.host.objects.kind('collection').rule('read')], context);
  const exposes = ['Last-Modified', resyncHeader, 'Cache-Control', 'Expires', 'Pragma'];
  return {
    name: 'collection-changeset',
    tag: 'changes',
    path: '/buckets/{bucket_id}/collections/{collection_id}/changeset',
    isResource: true,
    operations: forReading('get_changeset', { handle, requireAccess, describe }, exposes),
  };
}

function describe(): OperationDescription {
  const object = { type: 'object', additionalProperties: true };
  const changes = { type: 'array', items: object };
  const schema = objectWith({ metadata: object, timestamp: { type: 'integer' }, changes });
  return {
    summary: 'Returns the attributes of a collection and the changes of its records in one response.',
    parameters: [
      {
        ...queryParameter('_expected', 'Timestamp that the caller expects. It distinguishes requests in caches.', {
          type: 'string',
        }),
        isRequired: true,
      },
      ...listParameters.filter(({ name }) => name === '_since' || name === '_limit'),
    ],
    responses: {
      200: { description: 'The changes.', schema },
      204: { description: 'Only for `monitor/changes`: `_expected` is older than `_since`.' },
      307: {
        description:
          'Only for `monitor/changes`: `_since` is too old, or `_expected` has quotes. The header `Location` has the URL to use.',
      },
    },
    errors: [404, 409, 413],
  };
}

async function readChangeset(service: ChangesService, context: Context): Promise<ServiceResponse> {
  const { host } = service;
  const { bucket_id: bucket = '', collection_id: collection = '' } = context.ids;
  const isMonitor = bucket === monitorCollection.bucket && collection === monitorCollection.collection;
  const place = { kind: 'collection', ids: context.ids };
  if (!isMonitor) {
    await host.objects.requireAllowed(context, place, 'read');
    const { caller, unit, ids } = context;
    // Settings about collections do not open their records.
    await requireAllowed(host.objects.kind('record').rules.readList, caller, unit.reader, ids);
  }
  const expected = parameter(context, '_expected');
  if (expected === undefined) {
    throw invalidParameters([{ location: 'querystring', name: '_expected', description: 'Required' }]);
  }
  const since = readSince(context);
  const caching = cachingOf(service, context, { bucket, collection }, expected);
  if (isMonitor) {
    // Only here: the list of changes has no tombstones that a client without `_since` would miss.
    const early = respondWithoutChanges(service, context, { since, expected, caching });
    if (early !== undefined) return early;
    if (withoutQuotes(expected) !== expected) return redirectUnquoted(service, context);
  }
  const query = { since, limit: readLimit(context), caching };
  return isMonitor ? monitorChangeset(service, context, query) : collectionChangeset(service, context, query);
}

/** Returns a redirect to the URL without quotes around `_expected`, so that caches hold one variant. */
function redirectUnquoted({ redirects }: ChangesService, context: Context): ServiceResponse {
  const query = context.query.map(
    ([name, value]) => [name, name === '_expected' ? withoutQuotes(value) : value] as const,
  );
  return redirect(context, query, redirects);
}

interface ChangesetQuery {
  readonly since: number | undefined;
  /** Maximum number of entries, from the client. Nothing else cuts a changeset: it has no next page. */
  readonly limit: number;
  readonly caching: ServiceResponse['headers'];
}

function readLimit(context: Context): number {
  const query = context.query.filter(([name]) => name === '_limit');
  const { limit = Infinity, issues } = parseParameters(query, { now: context.now, use: 'list' });
  if (issues.length > 0) throw invalidParameters(issues);
  return limit;
}

async function monitorChangeset(
  { readChanges }: ChangesService,
  context: Context,
  { since = 0, limit, caching }: ChangesetQuery,
): Promise<ServiceResponse> {
  const all = await readChanges(context);
  const timestamp = newestTimestamp(all, context.now);
  const [bucket, collection] = [parameter(context, 'bucket'), parameter(context, 'collection')];
  const changes = all.entries
    .filter((entry) => entry.last_modified > since)
    .filter((entry) => bucket === undefined || entry.bucket === bucket)
    .filter((entry) => collection === undefined || entry.collection === collection)
    .toSorted((a, b) => b.last_modified - a.last_modified)
    .slice(0, limit);
  return {
    status: 200,
    headers: { 'Last-Modified': formatHttpDate(timestamp), ...caching },
    body: formatJson({ metadata: { bucket: monitorCollection.bucket }, timestamp, changes }),
  };
}

/**
 * Reads the records from one snapshot. The attributes may contain a signature of them, so they are read before and
 * after, and both reads must agree.
 */
async function collectionChangeset(
  { host }: ChangesService,
  context: Context,
  { since, limit, caching }: ChangesetQuery,
): Promise<ServiceResponse> {
  const { storage } = context.unit.reader;
  const { bucket_id: bucket = '', collection_id: id = '' } = context.ids;
  const read = (): Promise<StoredObject | undefined> =>
    findToParse(context, { kind: 'collection', parent: uriBelow('', 'buckets', bucket) }, id);
  const list = { kind: 'record', parent: host.objects.uri({ kind: 'collection', ids: context.ids }) };
  const filters: readonly Filter[] =
    since === undefined ? [] : [{ field: lastModifiedField, operator: 'gt', value: since }];
  const sort = [{ field: lastModifiedField, direction: 'descending' }] as const;
  let collection = await read();
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    if (collection === undefined) throw notFound('missingParent', 'collection', id);
    const page = await readWhole(host.engine, context, limit, (part) =>
      storage.listText(list, { filters, sort, ...part, includeDeleted: since !== undefined }),
    );
    const after = await read();
    if (after?.lastModified === collection.lastModified) {
      const metadata = formatJson({ ...entryValue(collection), bucket });
      const timestamp = page.timestamp ?? collection.lastModified;
      const headers: ResponseHeaders = { 'Last-Modified': formatHttpDate(collection.lastModified), ...caching };
      noteMissedDeletions(headers, page.horizon, filters, { options: host.engine, context });
      return {
        status: 200,
        headers,
        body: listBody(`{"metadata":${metadata},"timestamp":${timestamp},"changes":[`, [page.text]),
      };
    }
    collection = after;
  }
  throw new ServiceError('constraintViolated', {
    message: 'The collection changed while it was read. Retry the request.',
  });
}

/**
 * Returns a whole list. While it does not fit, it is read again with twice the limit, so that memory is reserved only for
 * large lists.
 *
 * @throws WorkAwaited; ServiceError requestTooLarge
 */
async function readWhole(
  { maxPageBytes, maxAnswerBytes }: Pick<EngineOptions, 'maxPageBytes' | 'maxAnswerBytes'>,
  { request }: Context,
  limit: number,
  read: (part: Pick<PageQuery, 'limit' | 'maxBytes'>) => Promise<PageText>,
): Promise<PageText> {
  for (let maxBytes = Math.min(maxPageBytes, maxAnswerBytes); ; maxBytes = Math.min(maxBytes * 2, maxAnswerBytes)) {
    if (maxBytes > maxPageBytes) request.memory?.admitWhole(maxBytes * responseExpansion);
    const page = await read({ limit: Math.min(limit, Math.ceil(maxBytes / minEntryBytes)), maxBytes });
    if (!page.more || page.count >= limit) return page;
    if (maxBytes === maxAnswerBytes) {
      const message =
        'The changes are too large for one response. Read the records of the collection in pages instead.';
      throw new ServiceError('requestTooLarge', { message });
    }
  }
}
