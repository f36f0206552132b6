// THE table of settings of the core. Everything that is known about a setting stands in its row here; plugins bring
// tables of their own. Families of names that hold a kind or an id are in `families.ts`.
import { setting, type SettingsTable, type ValuesOf } from './definition.ts';
import * as readers from './readers.ts';
import { readVersion } from './version.ts';

const { choice, date, dottedChoice, duration, flag, integer, list, matching, number, optional, orNone, text, url } = readers;

/** Backends that this version has, by kind. */
const backends = ['memory', 'sqlite'] as const;
const backend = dottedChoice(backends, {
  isDeprecated: true,
  hint: 'this version has no other backends',
});

const generator = dottedChoice(['UUID4', 'NameGenerator', 'RelaxedUUID'], { isDeprecated: false });

/** Where the protocol is described; replaced by a deployment with pages of its own. */
const protocolPages = 'https://docs.kinto-storage.org/';

const service = {
  project_name: setting(text(), 'Name of the service, shown in the root view and in logs.', { default: 'svc' }),
  project_version: setting(text(), 'Version shown in the root view; the version of the software unless set.', {
    default: readVersion(),
  }),
  project_docs: setting(url(), 'Documentation that the root view points to.', { default: protocolPages }),
  http_api_version: setting(
    matching(/^\d+\.\d+$/, 'two numbers with a point between, such as 1.23'),
    'Version of the protocol shown in the root view; its first number is the prefix of all paths.',
    { default: '1.23' },
  ),
  http_scheme: setting(
    optional(choice('http', 'https')),
    'Scheme of all addresses the service gives out; taken from the request unless set.',
    { default: undefined },
  ),
  http_host: setting(
    optional(matching(/^(?:[A-Za-z0-9._~-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/, 'a host name, with :port when not the usual one')),
    'Host, with port if needed, of all addresses the service gives out; taken from the request unless set.',
    { default: undefined },
  ),
  host: setting(
    text('a host name or an IP address'),
    'Address to listen on; 0.0.0.0 is every address of the machine. The environment variable HOST sets it too.',
    { default: '127.0.0.1' },
  ),
  http_port: setting(
    integer({ min: 0, max: 65_535 }),
    'Port to listen on; 0 picks a free one. The environment variable PORT sets it too.',
    { default: 8888 },
  ),
  trusted_proxies: setting(
    list('IP addresses or networks such as 10.0.0.0/8'),
    'Proxies whose forwarded headers are believed.',
    { default: [] },
  ),
  readonly: setting(flag(), 'Refuses everything that would change an object.', { default: false, isPublic: true }),
  includes: setting(
    readers.renamedList(renamePlugin, 'names of plugins, separated by spaces or commas'),
    'Plugins to load, in this order.',
    { default: [] },
  ),
  retry_after_seconds: setting(integer({ min: 0 }), 'Seconds after which clients may retry when the service is unavailable.', {
    default: 3,
  }),
  heartbeat_timeout_seconds: setting(duration({ min: 0.001 }), 'Time that each check of the heartbeat may take.', {
    default: 10,
  }),
  error_info_link: setting(url(), 'Page about errors that error responses point to.', { default: protocolPages }),
  error_info_all: setting(flag(), 'Adds that link to every error response, not only to those with status 5xx.', {
    default: false,
  }),
  version_json_path: setting(
    optional(text('a file')),
    'File that /__version__ answers with; the file version.json of the working folder, if there is one, unless set.',
    { default: undefined },
  ),
  contribute_json_path: setting(
    optional(text('a file')),
    'File that /contribute.json answers with; the one that comes with the software unless set.',
    { default: undefined },
  ),
  transaction_per_request: setting(flag(), 'Runs each request, batches included, in one transaction.', { default: true }),
  flush_endpoint_enabled: setting(
    flag(),
    'Serves POST /__flush__, by which anybody can delete everything. For development only.',
    { default: false },
  ),
};

const requests = {
  batch_max_requests: setting(orNone(integer({ min: 0 })), 'Requests that one batch may hold; 0 or empty is no limit.', {
    default: 25,
    isPublic: true,
  }),
  max_body_size: setting(integer({ min: 1 }), 'Bytes that the body of a request may have.', { default: 10_485_760 }),
  max_header_size: setting(integer({ min: 1024 }), 'Bytes that the first line and the headers of a request may have.', {
    default: 32_768,
  }),
  max_json_depth: setting(integer({ min: 1, max: 5000 }), 'Levels that JSON in a request may be nested.', { default: 500 }),
  max_id_length: setting(integer({ min: 36, max: 2048 }), 'Characters that the id of an object may have.', { default: 512 }),
  max_filters: setting(integer({ min: 1 }), 'Filters that one list request may hold.', { default: 100 }),
  max_pattern_length: setting(integer({ min: 1 }), 'Characters that a pattern in a filter or in a schema may have.', {
    default: 1000,
  }),
  header_timeout_seconds: setting(duration({ min: 0.1 }), 'Time that the headers of a request may take to arrive.', {
    default: 20,
  }),
  body_timeout_seconds: setting(duration({ min: 0.1 }), 'Time that a whole request may take to arrive.', { default: 60 }),
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

const lists = {
  paginate_by: setting(orNone(integer({ min: 1 })), 'Objects per page of a list, and the most a client may ask for; empty is no page limit.', {
    default: undefined,
  }),
  storage_max_fetch_size: setting(integer({ min: 1 }), 'Objects that one list request returns at most, whatever it asks for.', {
    default: 10_000,
  }),
  pagination_token_validity_seconds: setting(integer({ min: 1 }), 'Seconds for which the next page of a list deletion can be asked for.', {
    default: 600,
  }),
  pagination_token_signed: setting(flag(), 'Signs the tokens of pages, so that clients cannot write their own.', {
    default: false,
  }),
};

const redirects = {
  version_prefix_redirect_enabled: setting(flag(), 'Redirects paths without version to the served version.', { default: true }),
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
  trailing_slash_redirect_enabled: setting(flag(), 'Redirects the bare version prefix to the root view.', { default: true }),
  trailing_slash_redirect_ttl_seconds: setting(
    integer({ min: -1 }),
    'Seconds for which that redirect may be cached; 0 forbids it, -1 says nothing about it.',
    { default: 3600 },
  ),
  not_acceptable_status: setting(
    readers.numberChoice(415, 406),
    'Status for clients that do not accept JSON; 406 is what the reference server answers.',
    { default: 415 },
  ),
};

const caching = {
  cors_origins: setting(list('origins, in which * stands for anything'), 'Origins whose scripts may read answers.', {
    default: ['*'],
  }),
  cors_max_age_seconds: setting(
    orNone(integer({ min: 0 })),
    'Seconds for which browsers may keep what a preflight said; empty sends no such header.',
    { default: 3600 },
  ),
  root_cache_expires_seconds: setting(integer({ min: 0 }), 'Seconds for which the root view may be cached in readonly mode.', {
    default: 86_400,
  }),
};

const access = {
  explicit_permissions: setting(flag(), 'Makes whoever creates or changes an object one of its writers.', {
    default: true,
    isPublic: true,
  }),
  bucket_create_principals: setting(list('principals'), 'Who may create buckets.', { default: ['system.Authenticated'] }),
  permissions_read_principals: setting(list('principals'), 'Who may read the list of own permissions.', {
    default: ['system.Everyone'],
  }),
  'user-data_delete_principals': setting(list('principals'), 'Who may delete everything that belongs to a user.', {
    default: [],
  }),
  experimental_permissions_endpoint: setting(flag(), 'Serves /permissions, where callers list what they may do.', {
    default: false,
  }),
  experimental_collection_schema_validation: setting(flag(), 'Checks records against the JSON Schema of their collection or bucket.', {
    default: false,
  }),
  id_generator: setting(generator, 'How ids are made and checked, for kinds of object without a setting of their own.', {
    default: 'UUID4',
  }),
  bucket_id_generator: setting(generator, 'How ids of buckets are made and checked.', { default: 'NameGenerator' }),
  collection_id_generator: setting(generator, 'How ids of collections are made and checked.', { default: 'NameGenerator' }),
  group_id_generator: setting(generator, 'How ids of groups are made and checked.', { default: 'NameGenerator' }),
  record_id_generator: setting(generator, 'How ids of records are made and checked.', { default: 'RelaxedUUID' }),
};

const authentication = {
  userid_hmac_secret: setting(
    text('a long random text'),
    'Secret that user ids of Basic authentication are derived with. Another secret makes every user another one.',
    { default: '', isSecret: true, aliases: ['user_hmac_secret'] },
  ),
  default_bucket_hmac_secret: setting(
    text('a long random text'),
    'Secret that ids of personal buckets are derived with; userid_hmac_secret unless set.',
    { default: '', isSecret: true },
  ),
  default_bucket_hmac_legacy_empty: setting(
    flag(),
    'Derives ids of personal buckets with an empty secret, as the reference server does when none is set. They can be guessed then.',
    { default: false },
  ),
  'multiauth.policies': setting(list('names of policies'), 'Ways to authenticate, in the order they are tried; empty lets nobody in.', {
    default: ['basicauth'],
    noteWhenAbsent: 'multiauth.policies is not set: Basic authentication is on, and any user name with any password is a user',
  }),
  'multiauth.groupfinder': setting(
    matching(/(?:^|\.)groupfinder$/, 'the built-in groupfinder'),
    'What finds the groups of a user; only the built-in one exists.',
    { default: 'groupfinder' },
  ),
  'multiauth.authorization_policy': setting(
    matching(/(?:^|\.)(?:Route)?AuthorizationPolicy$/, 'the built-in AuthorizationPolicy'),
    'What decides about access; only the built-in one exists.',
    { default: 'AuthorizationPolicy' },
  ),
};

const databaseUrl = text('a file, sqlite:relative/file, or sqlite:///absolute/file');
const storage = {
  storage_backend: setting(orNone(backend), 'Where objects are kept; empty serves no objects at all.', { default: 'memory' }),
  permission_backend: setting(orNone(backend), 'Where permissions are kept; empty leaves only resources that belong to one user.', {
    default: 'memory',
  }),
  cache_backend: setting(backend, 'Where short-lived values are kept.', { default: 'memory' }),
  storage_url: setting(optional(databaseUrl), 'File of the SQLite storage; data/coffer.sqlite3 unless set.', {
    default: undefined,
    isSecret: true,
  }),
  permission_url: setting(optional(databaseUrl), 'File of the SQLite permissions; data/coffer.sqlite3 unless set.', {
    default: undefined,
    isSecret: true,
  }),
  cache_url: setting(optional(databaseUrl), 'File of the SQLite cache; data/coffer.sqlite3 unless set.', {
    default: undefined,
    isSecret: true,
  }),
  cache_prefix: setting(text(), 'Text put before the key of everything in the cache.', { default: '' }),
  cache_max_size_bytes: setting(integer({ min: 1024 }), 'Bytes that the memory cache of one process may take.', {
    default: 524_288,
  }),
  sqlite_synchronous: setting(
    choice('FULL', 'NORMAL', 'EXTRA', 'OFF'),
    'How hard SQLite makes sure that writes reach the disk. With FULL an answered write survives a power loss.',
    { default: 'FULL' },
  ),
};

const overload = {
  backoff: setting(optional(integer({ min: 0 })), 'Seconds that clients are asked to stay away for, in the header Backoff.', {
    default: undefined,
  }),
  backoff_percentage: setting(optional(number({ min: 0, max: 100 })), 'Share of the answers that carry this header; all unless set.', {
    default: undefined,
  }),
  eos: setting(optional(date()), 'Date on which the service ends. Before it clients are told, from it on they get 410.', {
    default: undefined,
  }),
  eos_message: setting(optional(text()), 'What users are told about the end of the service.', { default: undefined }),
  eos_url: setting(optional(url()), 'Page about the end of the service; project_docs unless set.', { default: undefined }),
};

const logging = {
  log_level: setting(choice('debug', 'info', 'warn', 'error', 'silent'), 'Least weight of what is logged.', { default: 'info' }),
  log_format: setting(
    choice('auto', 'json', 'pretty'),
    'Form of log lines: JSON, readable, or readable on a terminal and JSON elsewhere.',
    { default: 'auto' },
  ),
};

/** Every setting of the core, by name. */
export const coreSettings = {
  ...inSection('Service', service),
  ...inSection('Authentication', authentication),
  ...inSection('Backends', storage),
  ...inSection('Access and ids', access),
  ...inSection('Lists', lists),
  ...inSection('Requests and limits', requests),
  ...inSection('Redirects and negotiation', redirects),
  ...inSection('CORS and caching', caching),
  ...inSection('Overload and end of service', overload),
  ...inSection('Logging', logging),
} satisfies SettingsTable;

export type CoreTable = typeof coreSettings;
export type CoreValues = ValuesOf<CoreTable>;

function inSection<T extends SettingsTable>(section: string, table: T): T {
  return Object.fromEntries(Object.entries(table).map(([key, row]) => [key, { ...row, section }])) as T;
}

/** Plugin names of the reference server and of its known extension packages become ours. */
function renamePlugin(name: string): readonly [string, string?] {
  const match = /^(?:kinto\.plugins\.|kinto[-_])([a-z_]+)$/.exec(name);
  return match === null ? [name] : [match[1]!, `${name} is deprecated, write ${match[1]}`];
}
