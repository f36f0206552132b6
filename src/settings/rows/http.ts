// Settings about single requests: their limits, redirects, caching, and what clients are told under load.
import { setting } from '../definition.ts';
import { date, duration, flag, integer, list, number, numberChoice, optional, orNone, text, url } from '../readers.ts';

/** Limits of one request. */
export const requestSettings = {
  batch_max_requests: setting(
    orNone(integer({ min: 0 })),
    'Requests that one batch may hold; 0 or empty is no limit.',
    {
      default: 25,
      isPublic: true,
    },
  ),
  batch_max_bytes: setting(
    integer({ min: 1 }),
    'Maximum size in bytes of all entries of a batch, each with the defaults it inherits, of all answers to a batch, and of all stored objects that its entries read or change.',
    { default: 26_214_400 },
  ),
  max_page_bytes: setting(
    integer({ min: 1 }),
    'Maximum size in bytes of the objects on one page of a list. A page ends early at this size, after at least one object, and Next-Page continues it.',
    { default: 10_485_760 },
  ),
  max_answer_bytes: setting(
    integer({ min: 1 }),
    'Maximum size in bytes of the objects in an answer that has no pages: a changeset or a snapshot. Larger ones are refused with 413.',
    { default: 104_857_600 },
  ),
  max_body_size: setting(integer({ min: 1 }), 'Bytes that the body of a request may have.', { default: 10_485_760 }),
  max_header_size: setting(integer({ min: 1024 }), 'Bytes that the first line and the headers of a request may have.', {
    default: 32_768,
  }),
  max_json_depth: setting(integer({ min: 1, max: 5000 }), 'Levels that JSON in a request may be nested.', {
    default: 500,
  }),
  max_json_values: setting(
    integer({ min: 100 }),
    'Maximum number of JSON values in a request body and in a stored object. Each member of an object and each item of an array counts, at every depth, and the document itself counts as one.',
    { default: 100_000 },
  ),
  max_id_length: setting(
    integer({ min: 0, max: 2048 }),
    'Characters that the id of an object may have; 0 is no limit.',
    {
      default: 512,
    },
  ),
  max_principals: setting(
    integer({ min: 0 }),
    'Users and groups that a permission of an object may name, and members that a group may have; 0 is no limit.',
    { default: 10_000 },
  ),
  max_filters: setting(integer({ min: 1 }), 'Filters that one list request may hold.', { default: 100 }),
  header_timeout_seconds: setting(duration({ min: 0.1 }), 'Time that the headers of a request may take to arrive.', {
    default: 20,
  }),
  body_timeout_seconds: setting(duration({ min: 0.1 }), 'Time that a whole request may take to arrive.', {
    default: 60,
  }),
  request_timeout_seconds: setting(duration({ min: 0.1 }), 'Time that a connection may stay silent during a request.', {
    default: 60,
  }),
  idle_timeout_seconds: setting(duration({ min: 0 }), 'Time that a connection without requests is kept open.', {
    default: 72,
  }),
  shutdown_timeout_seconds: setting(
    duration({ min: 0 }),
    'Time that requests in flight get to finish when the service is told to stop.',
    { default: 30 },
  ),
};

/** Paths that lead elsewhere, and what clients must accept. */
export const redirectSettings = {
  version_prefix_redirect_enabled: setting(flag(), 'Redirects paths without version to the served version.', {
    default: true,
  }),
  version_prefix_redirect_ttl_seconds: setting(
    integer({ min: -1 }),
    'Seconds for which that redirect may be cached; -1 says nothing about it.',
    { default: -1 },
  ),
  unsupported_version_redirect_enabled: setting(
    flag(),
    'Redirects paths with another version to the served one; otherwise they are answered with 404.',
    { default: true },
  ),
  trailing_slash_redirect_enabled: setting(flag(), 'Redirects the bare version prefix to the root view.', {
    default: true,
  }),
  trailing_slash_redirect_ttl_seconds: setting(
    integer({ min: -1 }),
    'Seconds for which that redirect may be cached; 0 forbids it, -1 says nothing about it.',
    { default: 3600 },
  ),
  not_acceptable_status: setting(
    numberChoice(415, 406),
    'Status for clients that do not accept JSON; 406 is what the reference server answers.',
    { default: 415 },
  ),
};

/** What browsers may read and keep. */
export const cachingSettings = {
  cors_origins: setting(
    list('origins, in which * stands for anything, and :* at the end for any port or none'),
    'Origins whose scripts may read answers. With a list, scripts of other origins can change nothing either; the origin of the service itself is accepted when allowed_hosts or http_host says what it is.',
    { default: ['*'] },
  ),
  cors_max_age_seconds: setting(
    orNone(integer({ min: 0 })),
    'Seconds for which browsers may keep what a preflight said; empty sends no such header.',
    { default: 3600 },
  ),
  root_cache_expires_seconds: setting(
    integer({ min: 0 }),
    'Seconds for which the root view may be cached in readonly mode.',
    {
      default: 86_400,
    },
  ),
};

/** What clients are told under load and before the end. */
export const overloadSettings = {
  backoff: setting(
    optional(integer({ min: 0 })),
    'Seconds that clients are asked to stay away for, in the header Backoff.',
    {
      default: undefined,
    },
  ),
  backoff_percentage: setting(
    optional(number({ min: 0, max: 100 })),
    'Share of the answers that carry this header; all unless set.',
    {
      default: undefined,
    },
  ),
  eos: setting(
    optional(date()),
    'Date on which the service ends. Before it clients are told, from it on they get 410.',
    {
      default: undefined,
    },
  ),
  eos_message: setting(optional(text()), 'What users are told about the end of the service.', { default: undefined }),
  eos_url: setting(optional(url()), 'Page about the end of the service; project_docs unless set.', {
    default: undefined,
  }),
};
