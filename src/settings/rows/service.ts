// Settings of the service: its name, listening address, plugins and logs.
import { isIP } from 'node:net';
import { setting } from '../definition.ts';
import {
  choice,
  duration,
  flag,
  integer,
  integerOr,
  list,
  listOf,
  matching,
  optional,
  renamedList,
  text,
  url,
} from '../readers.ts';
import { readHomepage, readVersion, softwareName } from '../version.ts';
import { currentPluginNames } from '../kinto-names.ts';

function isHostPattern(word: string): boolean {
  const bare = word.replace(/^\[(.*)\]$/, '$1');
  return word === '*' || isIP(bare) === 6 || /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?$/.test(word);
}

/** Identity and addresses of the service. */
export const serviceSettings = {
  project_name: setting(text(), 'Name of the service in the root view and in logs.', { default: softwareName }),
  project_version: setting(text(), 'Version in the root view. Default: the version of the software.', {
    default: readVersion(),
  }),
  project_docs: setting(url(), 'URL of the documentation in the root view.', { default: readHomepage() }),
  http_api_version: setting(
    matching(/^\d+\.\d+$/, 'two numbers with a dot between, such as 1.23'),
    'Version of the HTTP API in the root view. Its first number is the prefix of all paths.',
    { default: '1.23' },
  ),
  path_prefix: setting(
    matching(/^(?:\/[A-Za-z0-9._~-]+)+$/, 'a path that starts with a slash and ends without one, such as /api'),
    'Path before the version in all URLs: with /api the root view is at /api/v1/. Paths outside this prefix get 404.',
    { default: '' },
  ),
  built_in_kinds: setting(
    flag(),
    'Whether buckets, groups, collections and records are served. If false, only the kinds of plugins are served.',
    { default: true },
  ),
  http_scheme: setting(
    optional(choice('http', 'https')),
    'Scheme of URLs in responses. Default: the scheme of the request.',
    { default: undefined },
  ),
  http_host: setting(
    optional(
      matching(
        /^(?:[A-Za-z0-9._~-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/,
        'a host name, with :port unless it is the default port',
      ),
    ),
    'Host and optional port of URLs in responses. Default: the host of the request. OpenID logins require it, except at localhost.',
    { default: undefined },
  ),
  host: setting(
    text('a host name or an IP address'),
    'Listening address. 0.0.0.0 means every address of the machine, localhost both 127.0.0.1 and ::1. The environment variable HOST sets it too.',
    { default: '127.0.0.1' },
  ),
  allowed_hosts: setting(
    listOf(
      isHostPattern,
      'host names and IP addresses without port, *.example.org for all subdomains, loopback for localhost and 127.0.0.1, or * for any host',
    ),
    'Accepted hosts in `Host`, in absolute request targets, and in forwarded headers of trusted proxies; other requests get 421. The names in http_host, host and admin_host are always accepted. __lbheartbeat__ accepts any host.',
    { default: ['*'] },
  ),
  http_port: setting(
    integer({ min: 0, max: 65_535 }),
    'Listening port; 0 picks a free one. The environment variable PORT sets it too.',
    { default: 8888 },
  ),
  workers: setting(
    integerOr('auto', { min: 1, max: 1024 }),
    'Number of worker processes; auto means one per processor. More than one requires shared backends: PostgreSQL or Redis.',
    { default: 1 },
  ),
  worker_response_timeout_seconds: setting(
    duration({ min: 0 }),
    'Time after which a worker process that does not respond to the first process is killed and replaced; 0 means never.',
    { default: 60 },
  ),
  trusted_proxies: setting(
    list('IP addresses or networks such as 10.0.0.0/8'),
    'Proxies whose forwarding headers are trusted.',
    { default: [] },
  ),
  readonly: setting(flag(), 'Whether requests that change objects are refused.', { default: false, isPublic: true }),
  includes: setting(
    renamedList(currentPluginNames, 'names of plugins, separated by spaces or commas'),
    'Plugins to load, in loading order.',
    { default: [] },
  ),
  retry_after_seconds: setting(
    integer({ min: 0 }),
    'Time in seconds after which clients may retry a request that got 503, or 409 for its timestamp, in the header Retry-After.',
    {
      default: 3,
    },
  ),
  startup_timeout_seconds: setting(
    duration({ min: 0, max: 86_400 }),
    'Maximum time for which the start waits for an unreachable backend before it fails with exit code 1; 0 means no waiting.',
    { default: 30 },
  ),
  heartbeat_timeout_seconds: setting(duration({ min: 0.001 }), 'Maximum duration of each heartbeat check.', {
    default: 10,
  }),
  error_info_link: setting(url(), 'URL of a page about errors, in the `info` of error responses.', {
    default: readHomepage(),
  }),
  error_info_all: setting(flag(), 'Whether all error responses contain that URL, not only those with status 5xx.', {
    default: false,
  }),
  version_json_path: setting(
    optional(text('a file')),
    'File that /__version__ serves. Default: version.json in the working folder, if it exists.',
    { default: undefined },
  ),
  contribute_json_path: setting(
    optional(text('a file')),
    'File that /contribute.json serves. Default: the one of the software.',
    { default: undefined },
  ),
  api_docs_enabled: setting(
    flag(),
    'Whether /docs serves a page with the description of the API, which can send requests from the browser.',
    { default: true },
  ),
  flush_endpoint_enabled: setting(
    flag(),
    'Whether POST /__flush__ is served, with which any client can delete all data. For development only.',
    { default: false },
  ),
};

/** Logs. */
export const loggingSettings = {
  log_level: setting(choice('debug', 'info', 'warn', 'error', 'silent'), 'Minimum level of log messages.', {
    default: 'info',
  }),
  log_format: setting(
    choice('auto', 'json', 'pretty'),
    'Format of log lines. auto is pretty on a terminal and json otherwise.',
    { default: 'auto' },
  ),
  slow_operation_ms: setting(
    integer({ min: 0 }),
    'Milliseconds from which on a call to a backend is logged as slow, with its list and never with values; 0 logs none.',
    { default: 0 },
  ),
};
