// `GET /buckets/monitor/collections/changes/records`: one public entry for each monitored collection, with the
// timestamp of its records. The list is computed, not stored.
import { invalidParameters } from '../../core/errors.ts';
import type { ListTraits } from '../../core/query/resolve.ts';
import { newestFirst } from '../../core/query/sort.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, queryParameter, type OperationDescription } from '../../engine/description.ts';
import type { Endpoint } from '../../engine/endpoint.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import {
  aboutFilters,
  listParameters,
  pageHeaders,
  preconditionHeaders,
  timestampHeaders as timestamps,
  totalHeaders,
} from '../../engine/list-parameters.ts';
import { readParameters, readQuery } from '../../engine/list-query.ts';
import { isUnchanged, readPreconditions, requireMatch } from '../../engine/preconditions.ts';
import { timestampHeaders } from '../../engine/respond.ts';
import { virtualPage } from '../../engine/virtual-list.ts';
import { byId } from '../../engine/walk.ts';
import { warningHeader } from '../../engine/warnings.ts';
import { cachingOf, parameter, respondWithoutChanges } from './caching.ts';
import { isComplete, newestTimestamp } from './monitored-collections.ts';
import type { ChangesService } from './service.ts';

const traits: ListTraits = {
  knownFields: ['id', 'last_modified', 'bucket', 'collection', 'host'],
  uniqueFields: ['id'],
  tieBreakers: [...newestFirst, ...byId],
};

export const monitorCollection = { bucket: 'monitor', collection: 'changes' };

export function monitorListEndpoint(service: ChangesService): Endpoint {
  const handle = (context: Context): Promise<ServiceResponse> => listChanges(service, context);
  const exposes = ['Next-Page', 'Last-Modified', 'ETag', 'Cache-Control', 'Expires', 'Pragma', warningHeader];
  return {
    name: 'changes-plural',
    tag: 'changes',
    path: '/buckets/monitor/collections/changes/records',
    isResource: true,
    operations: {
      GET: { id: 'get_changes', exposes, describe: describeGet, handle },
      HEAD: {
        id: 'head_changes',
        exposes: [...exposes, 'Total-Objects', 'Total-Records'],
        describe: describeHead,
        handle,
      },
    },
  };
}

const describedParameters = [
  ...preconditionHeaders,
  ...listParameters,
  queryParameter('_expected', 'Timestamp that the caller was notified of. It distinguishes requests in caches.', {
    type: 'string',
  }),
];
const outdated = { description: 'The notification is older than `_since`.' };

function describeGet(): OperationDescription {
  const entry = {
    type: 'object',
    properties: {
      id: { type: 'string' },
      last_modified: { type: 'integer' },
      bucket: { type: 'string' },
      collection: { type: 'string' },
      host: { type: 'string' },
    },
    required: ['id', 'last_modified'],
  };
  const schema = objectWith({ data: { type: 'array', items: entry } });
  return {
    summary: 'Returns the newest change of each monitored collection.',
    details: aboutFilters,
    parameters: describedParameters,
    responses: {
      200: { description: 'The changes.', schema, headers: [...timestamps, ...pageHeaders] },
      204: outdated,
      307: { description: '`_since` is too old. The header `Location` leads to the whole list.' },
    },
    errors: [412],
  };
}

function describeHead(): OperationDescription {
  return {
    summary: 'Counts the monitored collections.',
    parameters: describedParameters,
    responses: {
      200: { description: 'The totals, in headers.', headers: [...timestamps, ...totalHeaders] },
      204: outdated,
    },
    errors: [412],
  };
}

async function listChanges(service: ChangesService, context: Context): Promise<ServiceResponse> {
  const { host, readChanges } = service;
  const preconditions = readPreconditions(context);
  const parameters = readParameters(context, 'list');
  if (context.issues.length > 0) throw invalidParameters(context.issues);
  const expected = parameter(context, '_expected');
  const caching = cachingOf(service, context, monitorCollection, expected);
  const early = respondWithoutChanges(service, context, { since: parameters.since, expected, caching });
  if (early !== undefined) return early;

  const query = readQuery(parameters, context, host.engine, traits);
  const changes = await readChanges(context);
  const timestamp = newestTimestamp(changes, context.now);
  const headers = timestampHeaders(timestamp, caching);
  // Existing clients expect a body, so an unchanged list is empty instead of a 304. Entries after the timestamp may be new.
  if (isUnchanged(preconditions, timestamp) && isComplete(changes))
    return { status: 200, headers, body: '{"data":[]}' };
  requireMatch(preconditions, timestamp);
  return virtualPage(context, host.engine, changes.entries, query, headers);
}
