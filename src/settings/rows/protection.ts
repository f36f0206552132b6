// Settings of rate limits, overload protection and the admin port.
import { setting } from '../definition.ts';
import { duration, integer, list, optional, text } from '../readers.ts';

/** Rate limits, overload protection and the admin port. */
export const protectionSettings = {
  rate_limits: setting(
    list('names of limits'),
    'Names of rate limits. rate_limits.<name>.requests and further parameters define each.',
    { default: [] },
  ),
  rate_limit_exempt_principals: setting(list('principals'), 'Principals that are exempt from rate limits.', {
    default: [],
  }),
  max_connections_per_address: setting(
    integer({ min: 0 }),
    'Maximum number of concurrent connections per address and process, except from trusted_proxies; further ones are closed. 0 means unlimited.',
    { default: 0 },
  ),
  max_requests_under_way: setting(
    integer({ min: 0 }),
    'Maximum number of concurrent requests per process; further ones are refused with 503. 0 means unlimited.',
    { default: 1000 },
  ),
  max_requests_under_way_per_address: setting(
    optional(integer({ min: 0 })),
    'Maximum number of concurrent requests per client address and process; further ones are refused with 503, so that one client does not take all of max_requests_under_way. Half of max_requests_under_way unless set; 0 means unlimited. An IPv6 network of 48 bits counts as one address. Behind a proxy, set trusted_proxies: otherwise all clients have its address.',
    { default: undefined },
  ),
  max_event_loop_delay_ms: setting(
    integer({ min: 0 }),
    'Delay of the event loop in milliseconds above which a growing share of requests is refused with 503; 0 means unlimited.',
    { default: 1000 },
  ),
  memory_budget_bytes: setting(
    integer({ min: 0 }),
    'Memory in bytes for the bodies and responses of all requests of a process. 0 means half of the heap limit of Node.js, at most 384 MiB.',
    { default: 0 },
  ),
  memory_wait_seconds: setting(
    duration({ min: 0 }),
    'Maximum time that a large request waits for memory before the service refuses it with 503.',
    { default: 5 },
  ),
  memory_max_waiting: setting(
    integer({ min: 0 }),
    'Maximum number of large requests that wait for memory at the same time; one requester may have a quarter of them. The service refuses further ones with 503 at once.',
    { default: 200 },
  ),
  admin_port: setting(
    optional(integer({ min: 0, max: 65_535 })),
    'Separate port for operators. If set, metrics, the heartbeat, the web console, the flush endpoint and /operations are served on this port only; 0 picks a free port.',
    { default: undefined },
  ),
  admin_host: setting(text('a host name or an IP address'), 'Listening address of the admin port.', {
    default: '127.0.0.1',
  }),
  hsts_max_age_seconds: setting(
    integer({ min: 0 }),
    'Time in seconds for which browsers must use HTTPS only (Strict-Transport-Security), sent in responses over HTTPS; 0 sends no such header.',
    { default: 0 },
  ),
};
