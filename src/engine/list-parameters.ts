// Parameters and headers that every kind supports, as API descriptions show them.
import type { JsonObject } from '../base/json.ts';
import { queryParameter, type DescribedHeader, type DescribedParameter } from './description.ts';

/** A timestamp in query strings: the number, or the entity tag as received. */
const time: JsonObject = { type: ['integer', 'string'], minimum: 0, pattern: '^("[0-9]+"|[0-9]+)$' };

const names: JsonObject = { type: 'array', items: { type: 'string' } };

export const fieldsParameter = queryParameter(
  '_fields',
  'Attributes to return, separated by commas. `id` and `last_modified` are always included; a dot leads into an object.',
  names,
);

/** Parameters that select and order the objects of a list. */
const selection: readonly DescribedParameter[] = [
  queryParameter('_since', 'Only changes after this timestamp, tombstones of deleted objects included.', time),
  queryParameter('_before', 'Only changes before this timestamp.', time),
  { ...queryParameter('_to', 'Old name of `_before`.', time), isDeprecated: true },
  queryParameter('_sort', 'Attributes to sort by, separated by commas. A minus sign reverses the order.', names),
  queryParameter('_filter', 'Conditions as JSON: a selector such as `{"$or": [{"n": 1}, {"n": {"$gt": 5}}]}`.', {
    type: 'string',
  }),
  queryParameter(
    '_q',
    'Text search in the fields of the text index: words, `"phrases"`, `prefix*`, and `-excluded` ones. The best matches come first.',
    { type: 'string' },
  ),
  queryParameter('_limit', 'Maximum number of objects on a page; 0 means the maximum of the service.', {
    type: 'integer',
    minimum: 0,
  }),
  queryParameter('_token', 'Place in the list, as in the header `Next-Page`.', { type: 'string' }),
];

/** Parameters of GET and HEAD on a list. */
export const listParameters: readonly DescribedParameter[] = [...selection, fieldsParameter];

export const explainParameter = queryParameter(
  '_explain',
  'Whether the header `Query-Plan` reports which declared indexes were used.',
  { type: 'boolean', default: false },
);

/** Parameters of GET on a list, for live updates. */
export const liveParameters: readonly DescribedParameter[] = [
  queryParameter(
    '_live',
    '`sse` sends later changes as server-sent events. `poll` waits until something has changed since `_since`.',
    { type: 'string', enum: ['sse', 'poll'] },
  ),
  queryParameter('_wait', 'Maximum number of seconds that `_live=poll` waits.', {
    type: 'integer',
    minimum: 1,
    maximum: 60,
    default: 20,
  }),
  explainParameter,
  queryParameter('_gone', 'Whether changed objects that the filters exclude are marked with `"gone": true`.', {
    type: 'boolean',
    default: false,
  }),
  {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'Id of the last frame received with `_live=sse`: a timestamp. It has precedence over `_since`.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
];

/** Parameters of DELETE on a list. */
export const listDeletionParameters: readonly DescribedParameter[] = [...selection, explainParameter];

/** Description of filters, which are parameters of any name. */
export const aboutFilters =
  'Any other parameter filters by the attribute that it names: `name=value`. A prefix is an operator: ' +
  '`not_`, `min_`, `max_`, `gt_`, `lt_`, `in_`, `exclude_`, `like_`, `has_`, `contains_`, `contains_any_`. ' +
  'Values are JSON, or text.';

const precondition: JsonObject = { type: 'string', pattern: '^("[0-9]+"|\\*)$' };

export const preconditionHeaders: readonly DescribedParameter[] = [
  {
    name: 'If-Match',
    in: 'header',
    description: 'A timestamp between double quotes: responds 412 when the current one is another. `*` accepts any.',
    schema: precondition,
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description:
      'A timestamp between double quotes: a read responds 304 when it is current. `*`: a write responds 412 when the object exists.',
    schema: precondition,
  },
];

export const responseBehavior: DescribedParameter = {
  name: 'Response-Behavior',
  in: 'header',
  description:
    'Of the attributes sent, `light` returns those that changed, and `diff` those that differ from what was sent. `full` returns the whole object.',
  schema: { type: 'string', enum: ['full', 'light', 'diff'] },
};

/** Headers of every response with an object or a list. */
export const timestampHeaders: readonly DescribedHeader[] = [
  {
    name: 'ETag',
    description: 'The timestamp between double quotes, for preconditions and `_since`.',
    schema: { type: 'string', pattern: '^"[0-9]+"$' },
    isAlwaysSent: true,
  },
  {
    name: 'Last-Modified',
    description: 'The timestamp as a date, to the second.',
    schema: { type: 'string' },
    isAlwaysSent: true,
  },
];

const nextPage: DescribedHeader = {
  name: 'Next-Page',
  description: 'Address of the next page; absent on the last one.',
  schema: { type: 'string' },
  isAlwaysSent: false,
};

/** Headers of a page of a list. */
export const pageHeaders: readonly DescribedHeader[] = [
  nextPage,
  {
    name: 'Resync',
    description:
      'The timestamp, between double quotes, up to which deletions are unknown. Only sent to `_since` older than that.',
    schema: { type: 'string' },
    isAlwaysSent: false,
  },
];

/** Headers of HEAD on a list. */
export const totalHeaders: readonly DescribedHeader[] = [
  nextPage,
  {
    name: 'Total-Objects',
    description: 'Number of objects that match, on all pages.',
    schema: { type: 'integer', minimum: 0 },
    isAlwaysSent: true,
  },
  {
    name: 'Total-Records',
    description: 'Old name of `Total-Objects`.',
    schema: { type: 'integer', minimum: 0 },
    isAlwaysSent: true,
  },
];

export const deletionHeaders: readonly DescribedHeader[] = [nextPage];
