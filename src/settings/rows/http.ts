// Settings of requests: limits, redirects, caching, backoff and end of service.
import { maxStoredDepth } from '../../base/json.ts';
import { setting } from '../definition.ts';
import { date, duration, flag, integer, list, number, numberChoice, optional, orNone, text, url } from '../readers.ts';

/** Limits of one request. */
export const requestSettings = {
  batch_max_requests: setting(
    orNone(integer({ min: 0 })),
    'Maximum number of requests per batch; 0 or empty means unlimited.',
    {
      default: 25,
      isPublic: true,
    },
  ),
  batch_max_bytes: setting(
    integer({ min: 1 }),
    'Maximum size in bytes of all entries of a batch including inherited defaults, of all responses in a batch, and of all stored objects that its entries read or change.',
    { default: 26_214_400 },
  ),
  max_page_bytes: setting(
    integer({ min: 1 }),
    'Maximum size in bytes of the objects on one page of a list. A page ends early at this size, after at least one object, and Next-Page continues it.',
    { default: 10_485_760 },
  ),
  max_answer_bytes: setting(
    integer({ min: 1 }),
    'Maximum size in bytes of the objects in a response without pages: a changeset or a snapshot. Larger ones are refused with 413. In a changeset, each record and each deletion counts at least 100 bytes.',
    { default: 104_857_600 },
  ),
  max_body_size: setting(integer({ min: 1 }), 'Maximum size in bytes of a request body.', { default: 10_485_760 }),
  max_header_size: setting(
    integer({ min: 1024 }),
    'Maximum size in bytes of the request line and the headers, and of the headers of a batch entry.',
    {
      default: 32_768,
    },
  ),
  max_json_depth: setting(integer({ min: 1, max: maxStoredDepth }), 'Maximum nesting depth of JSON in a request.', {
    default: 500,
  }),
  max_json_values: setting(
    integer({ min: 100 }),
    'Maximum number of JSON values in a request body and in a stored object. Each member of an object and each item of an array counts, at every depth, and the document itself counts as one.',
    { default: 100_000 },
  ),
  max_id_length: setting(
    integer({ min: 0, max: 2048 }),
    'Maximum number of characters per object id; 0 means unlimited.',
    {
      default: 512,
    },
  ),
  max_principals: setting(
    integer({ min: 0 }),
    'Maximum number of principals per permission; 0 means unlimited. A group stands for any number of users.',
    { default: 2500 },
  ),
  max_members: setting(integer({ min: 0 }), 'Maximum number of members per group; 0 means unlimited.', {
    default: 10_000,
  }),
  max_filters: setting(integer({ min: 1 }), 'Maximum number of filters per list request.', { default: 100 }),
  max_indexes: setting(
    integer({ min: 0, max: 8 }),
    'Maximum number of declared indexes per collection; 0 means that none can be declared.',
    { default: 8 },
  ),
  max_index_fields: setting(integer({ min: 1, max: 16 }), 'Maximum number of fields of a declared index.', {
    default: 4,
  }),
  max_selector_conditions: setting(
    integer({ min: 1 }),
    'Maximum number of conditions and combinations in the selector of a list request (`_filter`).',
    { default: 200 },
  ),
  max_selector_depth: setting(integer({ min: 1 }), 'Maximum number of combinations inside each other in a selector.', {
    default: 10,
  }),
  max_selector_values: setting(
    integer({ min: 1 }),
    'Maximum number of values of all lists in a selector, such as those of `$in`.',
    { default: 1000 },
  ),
  max_selector_chars: setting(
    integer({ min: 1 }),
    'Maximum number of characters of all conditions of a list request: its selector (`_filter`) and its filters.',
    { default: 100_000 },
  ),
  max_query_work: setting(
    integer({ min: 1 }),
    'Maximum work of one query of a list, in millions of characters. Each object that is tested counts its length and 100, times the number of conditions and 5. A twentieth of it is left to all queries of a request together that run while it holds locks, because other writers wait for them: those of a batch after its first write, and the part of a deletion that cannot be done before.',
    { default: 30_000 },
  ),
  max_search_chars: setting(integer({ min: 1 }), 'Maximum length of a text query (`_q`), in characters.', {
    default: 500,
  }),
  header_timeout_seconds: setting(duration({ min: 0.1 }), 'Maximum time until the headers of a request have arrived.', {
    default: 20,
  }),
  body_timeout_seconds: setting(duration({ min: 0.1 }), 'Maximum time until a whole request has arrived.', {
    default: 60,
  }),
  request_timeout_seconds: setting(
    duration({ min: 0.1 }),
    'Maximum time without data on a connection during a request.',
    {
      default: 60,
    },
  ),
  idle_timeout_seconds: setting(duration({ min: 0 }), 'Time for which an idle connection is kept open.', {
    default: 72,
  }),
  shutdown_timeout_seconds: setting(
    duration({ min: 0 }),
    'Maximum time for requests in flight to finish when the service stops.',
    { default: 30 },
  ),
};

/** Redirects and content negotiation. */
export const redirectSettings = {
  version_prefix_redirect_enabled: setting(flag(), 'Whether paths without version redirect to the served version.', {
    default: true,
  }),
  version_prefix_redirect_ttl_seconds: setting(
    integer({ min: -1 }),
    'Time in seconds for which that redirect may be cached; -1 sends no caching headers.',
    { default: -1 },
  ),
  unsupported_version_redirect_enabled: setting(
    flag(),
    'Whether paths with another version redirect to the served one. If false, the response is 404.',
    { default: true },
  ),
  trailing_slash_redirect_enabled: setting(
    flag(),
    'Whether the bare version prefix redirects to the root view, and other paths with a trailing slash to the path without it.',
    {
      default: true,
    },
  ),
  trailing_slash_redirect_ttl_seconds: setting(
    integer({ min: -1 }),
    'Time in seconds for which that redirect may be cached; 0 forbids caching, -1 sends no caching headers.',
    { default: 3600 },
  ),
  not_acceptable_status: setting(
    numberChoice(415, 406),
    'Status of the response to clients that do not accept JSON. Kinto responds 406.',
    { default: 415 },
  ),
};

/** CORS and caching. */
export const cachingSettings = {
  cors_origins: setting(
    list('origins, in which * matches any text, and :* at the end any port or none'),
    'Origins whose scripts may read responses. Unless * is in the list, scripts of other origins cannot change data either. The origin of the service itself is accepted when allowed_hosts or http_host defines it.',
    { default: ['*'] },
  ),
  cors_max_age_seconds: setting(
    orNone(integer({ min: 0 })),
    'Time in seconds for which browsers may cache a preflight response; empty sends no such header.',
    { default: 3600 },
  ),
  root_cache_expires_seconds: setting(
    integer({ min: 0 }),
    'Time in seconds for which the root view may be cached in read-only mode.',
    {
      default: 86_400,
    },
  ),
};

/** Backoff and end of service. */
export const overloadSettings = {
  backoff: setting(
    optional(integer({ min: 0 })),
    'Time in seconds that clients are asked to wait before the next request, in the header Backoff. Empty sends no such header.',
    {
      default: undefined,
    },
  ),
  backoff_percentage: setting(
    optional(number({ min: 0, max: 100 })),
    'Percentage of responses with this header. Default: all.',
    {
      default: undefined,
    },
  ),
  eos: setting(
    optional(date()),
    'Date of the end of service. Before it, responses have an Alert header; from it on, they are 410.',
    {
      default: undefined,
    },
  ),
  eos_message: setting(optional(text()), 'Message about the end of service.', { default: undefined }),
  eos_url: setting(optional(url()), 'URL of a page about the end of service. Default: project_docs.', {
    default: undefined,
  }),
};
