// Settings of the plugin.
import { inSection, setting } from '../../settings/definition.ts';
import { integer, renamedList, text, type Reader } from '../../settings/readers.ts';
import type { SettingsFamily } from '../../settings/families.ts';

/** Reads a list of URIs. Existing deployments write those of buckets with a trailing slash, which is removed. */
function uriList(form: string): Reader<readonly string[]> {
  return renamedList((uriForm) => ({ names: [uriForm.replace(/(?<=.)\/$/, '')] }), form);
}

export const changesSettings = inSection('Monitored changes', {
  'changes.resources': setting(
    uriList('URIs such as /buckets/main or /buckets/main/collections/articles'),
    'Monitored buckets and collections.',
    { default: [] },
  ),
  'changes.excluded_collections': setting(
    uriList('URIs of collections'),
    'Collections excluded from monitored buckets.',
    { default: [] },
  ),
  'changes.http_host': setting(
    text('a host name'),
    'Host name in entries and in redirects of clients with an old timestamp. Such redirects have the scheme http_scheme, by default https. Empty means http_host in entries, and the URL of the request in redirects.',
    { default: '' },
  ),
  'changes.since_max_age_days': setting(
    integer(),
    'Maximum age of `_since` in requests for the list of changes, in days. Older ones are redirected to the whole list, so that caches hold few variants. Negative means unlimited.',
    { default: 21 },
  ),
  'changes.since_max_age_redirect_ttl_seconds': setting(
    integer(),
    'Cache lifetime of that redirect, in seconds; 0 forbids caching, and negative sends no cache headers.',
    { default: 86_400 },
  ),
  push_broadcast_min_debounce_interval_seconds: setting(
    integer({ min: 0 }),
    'Minimum interval between two announced changes in /__broadcasts__, in seconds.',
    { default: 300 },
  ),
});

/** Cache lifetimes of responses, by collection. */
export const changesFamilies: readonly SettingsFamily[] = [
  {
    form: '<bucket>.<collection>.record_cache_maximum_expires_seconds, <bucket>.<collection>.record_cache_minimum_expires_seconds',
    sentence:
      'Cache lifetime of changesets, in seconds; monitor.changes is the list of changes. The maximum applies if the URL has `_expected`, which changes with the content. The minimum applies if not, and if `_expected` is 0 or begins with 9999. Default: the first that is set of <bucket>.<collection>.record_cache_expires_seconds, <bucket>.record_cache_expires_seconds and record_cache_expires_seconds.',
    pattern: /^[A-Za-z0-9_.-]+[._]record_cache_(?:maximum|minimum)_expires_seconds$/,
    environmentPattern: /^[a-z0-9_]+_record_cache_(?:maximum|minimum)_expires_seconds$/,
    reader: integer({ min: 0 }),
  },
];
