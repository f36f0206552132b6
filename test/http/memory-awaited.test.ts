import { expect, it } from 'vitest';
import { MemoryAwaited } from '../../src/engine/exchange.ts';
import { errorResponse } from '../../src/http/errors.ts';

it('refuses what would wait for memory after the response has begun, such as a long poll', () => {
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const options = {
    retryAfterSeconds: 3,
    infoLink: undefined,
    infoAll: false,
    notAcceptableStatus: 406,
    challenges: [],
  } as const;
  const { status, headers } = errorResponse(new MemoryAwaited(() => undefined), 'r', options, logger);
  expect(status).toBe(503);
  expect(headers['Retry-After']).toBe('3');
});

function fail(): never {
  throw new Error('nothing is to be logged');
}
