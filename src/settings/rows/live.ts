// Settings of live updates of lists.
import { setting } from '../definition.ts';
import { duration, integer } from '../readers.ts';

/** Limits of streams and long polls. */
export const liveSettings = {
  live_max_streams: setting(
    integer({ min: 0 }),
    'Maximum number of open live streams and long polls of one process; further ones get 503. 0 switches live updates off.',
    { default: 10_000 },
  ),
  live_max_streams_per_user: setting(
    integer({ min: 1 }),
    'Maximum number of open live streams and long polls of one authenticated user in one process; further ones get 503.',
    { default: 100 },
  ),
  live_max_streams_per_address: setting(
    integer({ min: 0 }),
    'Maximum number of open live streams and long polls of anonymous callers from one address in one process, except from trusted_proxies; further ones get 503. 0 means unlimited. Clients behind a proxy that trusted_proxies does not name have its address.',
    { default: 2500 },
  ),
  live_max_seconds: setting(
    duration({ min: 1, max: 86_400 }),
    'Maximum age of a live stream, varied by up to a tenth. The client reconnects and goes on where it was.',
    { default: 300 },
  ),
  live_recheck_seconds: setting(
    duration({ min: 0.5, max: 3600 }),
    'Interval at which the credentials and permissions behind an open live stream are checked again. They are also checked before changes are sent.',
    { default: 2 },
  ),
  live_buffer_bytes: setting(
    integer({ min: 4096 }),
    'Maximum number of bytes that wait to be sent in one live stream. A slower client is served again once it has read them. A single larger object is sent once the memory budget has room for it.',
    { default: 65_536 },
  ),
};
