// The contract suites of caches on memcached, each case with a prefix of its own, on one server and on several.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { openMemcachedCache } from '../../src/backends/memcached/cache.ts';
import { MemcachedProcess } from '../support/memcached.ts';
import { describeCache } from './run-suite.ts';

let servers: readonly MemcachedProcess[];

beforeAll(async () => {
  servers = await Promise.all([1, 2, 3].map(() => MemcachedProcess.start()));
}, 120_000);

afterAll(() => Promise.all(servers.map((server) => server.kill())));

for (const count of [1, 3]) {
  describeCache(count === 1 ? 'memcached' : `memcached on ${count} servers`, async (clock) => {
    const options = { clock, prefix: `${randomUUID()}:`, timeoutSeconds: 10, maxBacklog: 1000 };
    return { cache: await openMemcachedCache({ ...options, hosts: servers.slice(0, count) }) };
  });
}
