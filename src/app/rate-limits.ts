// Creates the rate limits in the setting `rate_limits`.
import { builtInBackends } from '../backends/built-in-backends.ts';
import { findBackend } from '../settings/backend-settings.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Clock } from '../base/clock.ts';
import type { Method } from '../engine/endpoint.ts';
import type { CountedBy, RateLimit } from '../http/rate-limits/rate-limit.ts';
import { RateLimits } from '../http/rate-limits/rate-limits.ts';
import { choice, duration, integer } from '../settings/readers.ts';
import type { Settings } from '../settings/settings.ts';

const parameters: readonly string[] = ['requests', 'window', 'per', 'methods', 'paths'];
const methods: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const aMinute = 60;
const aDay = 86_400;

/**
 * Creates the rate limits; returns `undefined` when none is set.
 *
 * @throws Error naming the limit that is wrong, with the reason
 */
export function createRateLimits(
  settings: Settings,
  { cache, clock, logger }: { readonly cache: CacheBackend; readonly clock: Clock; readonly logger: Logger },
): RateLimits | undefined {
  const names = settings.get('rate_limits');
  const stray = settings.keys().find((key) => key.startsWith('rate_limits.') && !isOfOne(key, names));
  if (stray !== undefined) {
    throw new Error(`${stray} is not a parameter of a rate limit, or its limit is not in rate_limits.`);
  }
  if (names.length === 0) return undefined;
  if (new Set(names).size < names.length) throw new Error('rate_limits names a limit twice.');
  const isLocal = findBackend(settings, builtInBackends, 'cache')?.isVolatile === true;
  return new RateLimits({
    limits: names.map((name) => readLimit(settings, name)),
    exempt: settings.get('rate_limit_exempt_principals'),
    cache: isLocal ? undefined : cache,
    clock,
    logger,
  });
}

function isOfOne(key: string, names: readonly string[]): boolean {
  const [, name = '', ...rest] = key.split('.');
  return names.includes(name) && parameters.includes(rest.join('.'));
}

function readLimit(settings: Settings, name: string): RateLimit {
  const prefix = `rate_limits.${name}`;
  if (!/^[A-Za-z0-9_-]+$/.test(name))
    throw new Error(`rate_limits names ${name}; names have letters, digits, _ and -.`);
  const requests = settings.lookupWith(integer({ min: 1 }), `${prefix}.requests`);
  if (requests === undefined)
    throw new Error(`${prefix}.requests is not set: give the number of requests that it allows.`);
  const given = settings.lookupList(`${prefix}.methods`) ?? [];
  const wrong = given.find((method) => !methods.some((known) => known === method));
  if (wrong !== undefined) throw new Error(`${prefix}.methods names ${wrong}; accepted are ${methods.join(', ')}.`);
  const paths = settings.lookupList(`${prefix}.paths`) ?? [];
  const relative = paths.find((path) => !path.startsWith('/'));
  if (relative !== undefined) throw new Error(`${prefix}.paths names ${relative}; paths start with a slash.`);
  const by: CountedBy | undefined = settings.lookupWith(choice('user', 'address', 'all'), `${prefix}.per`);
  return {
    name,
    requests,
    windowSeconds: Math.ceil(settings.lookupWith(duration({ min: 1, max: aDay }), `${prefix}.window`) ?? aMinute),
    by: by ?? 'user',
    methods: methods.filter((method) => given.includes(method)),
    paths,
  };
}
