// Starts the Redis server that the test files share, unless TEST_REDIS_URL names one.
import { MissingProgram } from './missing-program.ts';
import { openTestServer } from './redis.ts';

/** Called by vitest once before all tests; what it returns is called after them. */
export async function setup(): Promise<() => Promise<void>> {
  try {
    const server = await openTestServer();
    // The processes of the test files inherit it.
    process.env['TEST_REDIS_URL'] = server.url;
    return server.close;
  } catch (error) {
    if (!(error instanceof MissingProgram)) throw error;
    // Each test that needs the server says so; none tries to fetch it again.
    process.env['TEST_MISSING_PROGRAMS'] = [process.env['TEST_MISSING_PROGRAMS'] ?? '', 'redis-server'].join(',');
    return async () => {};
  }
}
