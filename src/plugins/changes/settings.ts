// Settings of the plugin.
import { setting } from '../../settings/definition.ts';
import { integer, renamedList, text, type Reader } from '../../settings/readers.ts';
import type { SettingsFamily } from '../../settings/families.ts';

const section = 'Monitored changes';

/** Addresses; deployments write those of buckets with a slash at the end, which is left out. */
function uriList(form: string): Reader<readonly string[]> {
  return renamedList((uriForm) => ({ names: [uriForm.replace(/(?<=.)\/$/, '')] }), form);
}

export const changesSettings = {
  'changes.resources': setting(
    uriList('addresses such as /buckets/main or /buckets/main/collections/articles'),
    'Buckets and collections whose changes are monitored.',
    { default: [], section },
  ),
  'changes.excluded_collections': setting(
    uriList('addresses of collections'),
    'Collections that are left out, although their bucket is monitored.',
    { default: [], section },
  ),
  'changes.http_host': setting(
    text('a host name'),
    'Host that entries name and that clients with too old a timestamp are sent to; http_host unless set.',
    { default: '', section },
  ),
  'changes.since_max_age_days': setting(
    integer(),
    'Clients that ask for changes since longer ago are sent to the whole list, so that caches hold few variants; negative: never.',
    { default: 21, section },
  ),
  'changes.since_max_age_redirect_ttl_seconds': setting(
    integer({ min: 0 }),
    'Seconds for which that redirect may be cached.',
    { default: 86_400, section },
  ),
  push_broadcast_min_debounce_interval_seconds: setting(
    integer({ min: 0 }),
    'Seconds that must pass before another change is announced in /__broadcasts__.',
    { default: 300, section },
  ),
};

/** Times for which answers may be cached, by collection. */
export const changesFamilies: readonly SettingsFamily[] = [
  {
    form: '<bucket>.<collection>.record_cache_maximum_expires_seconds, <bucket>.<collection>.record_cache_minimum_expires_seconds',
    sentence:
      'Seconds for which answers about monitored changes may be cached: the maximum when the address has an `_expected`, which changes with the content, the minimum otherwise.',
    pattern: /^[A-Za-z0-9_.-]+[._]record_cache_(?:maximum|minimum)_expires_seconds$/,
    environmentPattern: /^[a-z0-9_]+_record_cache_(?:maximum|minimum)_expires_seconds$/,
    reader: integer({ min: 0 }),
  },
];
