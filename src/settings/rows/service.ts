// Settings of the service as a whole: what it calls itself, where it listens, what it loads, what it logs.
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

/** What the service is and where it is reached. */
export const serviceSettings = {
  project_name: setting(text(), 'Name of the service, shown in the root view and in logs.', { default: softwareName }),
  project_version: setting(text(), 'Version shown in the root view; the version of the software unless set.', {
    default: readVersion(),
  }),
  project_docs: setting(url(), 'Documentation that the root view points to.', { default: readHomepage() }),
  http_api_version: setting(
    matching(/^\d+\.\d+$/, 'two numbers with a point between, such as 1.23'),
    'Version of the protocol shown in the root view; its first number is the prefix of all paths.',
    { default: '1.23' },
  ),
  path_prefix: setting(
    matching(/^(?:\/[A-Za-z0-9._~-]+)+$/, 'a path that starts with a slash and ends without one, such as /api'),
    'Path before the version in all addresses: with /api the root view is at /api/v1/. Whatever lies beside it is answered with 404.',
    { default: '' },
  ),
  built_in_kinds: setting(
    flag(),
    'Serves buckets, groups, collections and records. Without them there is what plugins bring.',
    { default: true },
  ),
  http_scheme: setting(
    optional(choice('http', 'https')),
    'Scheme of all addresses the service gives out; taken from the request unless set.',
    { default: undefined },
  ),
  http_host: setting(
    optional(
      matching(
        /^(?:[A-Za-z0-9._~-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/,
        'a host name, with :port when not the usual one',
      ),
    ),
    'Host, with port if needed, of all addresses the service gives out; taken from the request unless set. OpenID logins need it, except at localhost.',
    { default: undefined },
  ),
  host: setting(
    text('a host name or an IP address'),
    'Address to listen on; 0.0.0.0 is every address of the machine, localhost both 127.0.0.1 and ::1. The environment variable HOST sets it too.',
    { default: '127.0.0.1' },
  ),
  allowed_hosts: setting(
    listOf(
      isHostPattern,
      'host names and IP addresses without port, *.example.org for all names below one, loopback for localhost and 127.0.0.1, or * for any',
    ),
    'Hosts that requests may name in Host, in their target, or in what a trusted proxy forwards; other requests get 421. The names in http_host, host and admin_host are always accepted. __lbheartbeat__ answers to any name.',
    { default: ['*'] },
  ),
  http_port: setting(
    integer({ min: 0, max: 65_535 }),
    'Port to listen on; 0 picks a free one. The environment variable PORT sets it too.',
    { default: 8888 },
  ),
  workers: setting(
    integerOr('auto', { min: 1, max: 1024 }),
    'Processes that serve; auto is one for each processor. More than one needs backends that they can share: PostgreSQL or Redis.',
    { default: 1 },
  ),
  trusted_proxies: setting(
    list('IP addresses or networks such as 10.0.0.0/8'),
    'Proxies whose forwarded headers are believed.',
    { default: [] },
  ),
  readonly: setting(flag(), 'Refuses everything that would change an object.', { default: false, isPublic: true }),
  includes: setting(
    renamedList(currentPluginNames, 'names of plugins, separated by spaces or commas'),
    'Plugins to load, in this order.',
    { default: [] },
  ),
  retry_after_seconds: setting(
    integer({ min: 0 }),
    'Seconds after which clients may retry when the service is unavailable.',
    {
      default: 3,
    },
  ),
  startup_timeout_seconds: setting(
    duration({ min: 0, max: 86_400 }),
    'How long the start waits for a backend that cannot be reached yet, before it ends with the exit code 1; 0: not at all.',
    { default: 30 },
  ),
  heartbeat_timeout_seconds: setting(duration({ min: 0.001 }), 'Time that each check of the heartbeat may take.', {
    default: 10,
  }),
  error_info_link: setting(url(), 'Page about errors that error responses point to.', { default: readHomepage() }),
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
  api_docs_enabled: setting(
    flag(),
    'Serves a page at /docs that shows the description of the API and sends requests from the browser.',
    { default: true },
  ),
  flush_endpoint_enabled: setting(
    flag(),
    'Serves POST /__flush__, by which anybody can delete everything. For development only.',
    { default: false },
  ),
};

/** What is logged and how. */
export const loggingSettings = {
  log_level: setting(choice('debug', 'info', 'warn', 'error', 'silent'), 'Least weight of what is logged.', {
    default: 'info',
  }),
  log_format: setting(
    choice('auto', 'json', 'pretty'),
    'Form of log lines: JSON, readable, or readable on a terminal and JSON elsewhere.',
    { default: 'auto' },
  ),
};
