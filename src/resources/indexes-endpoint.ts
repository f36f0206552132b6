// `GET /buckets/{bucket_id}/collections/{collection_id}/indexes`: the states of the indexes of a collection.
import type { JsonObject } from '../base/json.ts';
import { invalidParameters } from '../core/errors.ts';
import type { ListIndex } from '../core/query/ast.ts';
import { requireAllowed, requireGranted } from '../engine/access.ts';
import { anonymous } from '../engine/caller.ts';
import type { CompiledKind } from '../engine/compiled-kind.ts';
import type { Context } from '../engine/context.ts';
import { objectWith, type OperationDescription } from '../engine/description.ts';
import { forReading, type Endpoint } from '../engine/endpoint.ts';
import type { ServiceResponse } from '../engine/exchange.ts';
import { openReport } from '../engine/index-report.ts';
import { readStates, stateOf } from '../engine/index-states.ts';
import { declaredIndexes } from '../engine/list-indexes.ts';
import { findAbove, openScope, type Indexing } from '../engine/scope.ts';

export interface IndexesEndpointOptions {
  readonly records: CompiledKind;
  readonly indexing: Indexing | undefined;
}

export function indexesEndpoint(options: IndexesEndpointOptions): Endpoint {
  const { records } = options;
  return {
    name: 'collection-indexes',
    tag: 'collection',
    path: '/buckets/{bucket_id}/collections/{collection_id}/indexes',
    isResource: true,
    operations: forReading('get_collection_indexes', {
      handle: (context) => respond(options, context),
      requireAccess: (context) => requireGranted([records.rules.readList], context),
      describe,
    }),
  };
}

function describe(): OperationDescription {
  const integer = { type: 'integer' };
  const properties = {
    fields: { type: 'array', items: { type: 'string' } },
    unique: { type: 'boolean' },
    text: { type: 'array', items: { type: 'string' } },
    state: { type: 'string', enum: ['building', 'ready', 'failed'] },
    done: integer,
    total: integer,
    sizeBytes: integer,
    lastUsed: { type: ['integer', 'null'] },
    duplicates: { type: 'array', items: { type: 'string' } },
  };
  const data = { type: 'array', items: { type: 'object', properties } };
  return {
    summary: 'Returns the states of the indexes that a collection declares.',
    responses: { 200: { description: 'The states.', schema: objectWith({ data }) } },
    errors: [404],
  };
}

async function respond({ records, indexing }: IndexesEndpointOptions, context: Context): Promise<ServiceResponse> {
  const { caller, ids, issues, unit } = context;
  const { storage } = unit.reader;
  await requireAllowed(records.rules.readList, caller, unit.reader, ids);
  const scope = await openScope(records, {}, context);
  const above = await findAbove(scope, unit.reader);
  if (above.missing !== undefined) throw above.missing;
  if (issues.length > 0) throw invalidParameters(issues);
  const list = records.listKey(ids, anonymous);
  const declared = declaredIndexes(records, above);
  const states = await readStates(storage, list);
  if (states.work !== undefined || declared.some((index) => stateOf(states, index) === undefined)) indexing?.wake(list);
  const report = await openReport(storage, list);
  const data = declared.map((index) => {
    const state = stateOf(states, index);
    return {
      ...declarationOf(index),
      state: state?.status ?? 'building',
      ...report(index, state, states.work),
      ...(state?.status === 'failed' ? { duplicates: state.duplicates } : {}),
    };
  });
  return { status: 200, headers: { 'Cache-Control': 'no-cache, no-store' }, body: JSON.stringify({ data }) };
}

/** Returns an index as it was declared. */
function declarationOf({ fields, isUnique, isText }: ListIndex): JsonObject {
  const names = fields.map(({ field, direction }) => (direction === 'descending' ? '-' : '') + field.name);
  return isText ? { text: names } : { fields: names, unique: isUnique };
}
