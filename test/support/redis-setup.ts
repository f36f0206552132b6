// Starts the Redis server that the test files share, unless TEST_REDIS_URL names one.
import { openTestServer } from './redis.ts';

/** Called by vitest once before all tests; what it returns is called after them. */
export async function setup(): Promise<() => Promise<void>> {
  const server = await openTestServer();
  // The processes of the test files inherit it.
  process.env['TEST_REDIS_URL'] = server.url;
  return server.close;
}
