// Settings by which the service protects itself: from too many requests, and from being reached by whom it should not.
import { setting } from '../definition.ts';
import { duration, integer, list, optional, text } from '../readers.ts';

/** Limits on how much is asked, and a port for those who run the service. */
export const protectionSettings = {
  rate_limits: setting(
    list('names of limits'),
    'Limits on how often clients may ask; rate_limits.<name>.requests and others say what each allows.',
    { default: [] },
  ),
  rate_limit_exempt_principals: setting(list('principals'), 'Users and groups that rate limits do not hold for.', {
    default: [],
  }),
  max_connections_per_address: setting(
    integer({ min: 0 }),
    'Connections that one address may have to one process at the same time, trusted_proxies apart; further ones are closed. 0 is no limit.',
    { default: 0 },
  ),
  max_requests_under_way: setting(
    integer({ min: 0 }),
    'Requests that one process works on at the same time; further ones are refused with 503. 0 is no limit.',
    { default: 1000 },
  ),
  max_event_loop_delay_ms: setting(
    integer({ min: 0 }),
    'Milliseconds of delay of the event loop from which on a growing part of the requests is refused with 503; 0 is no limit.',
    { default: 1000 },
  ),
  memory_budget_bytes: setting(
    integer({ min: 0 }),
    'Memory in bytes that the bodies and answers of all requests of one process may use together. 0 means half of the heap limit of Node.js, at most 384 MiB.',
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
    'Port of its own for those who run the service. Metrics, the heartbeat, the web console and the flush endpoint are served there alone then; 0 picks a free port.',
    { default: undefined },
  ),
  admin_host: setting(text('a host name or an IP address'), 'Address that the admin port is listened to on.', {
    default: '127.0.0.1',
  }),
  hsts_max_age_seconds: setting(
    integer({ min: 0 }),
    'Seconds for which browsers shall use https alone, told in answers to requests that came by it; 0 tells nothing.',
    { default: 0 },
  ),
};
