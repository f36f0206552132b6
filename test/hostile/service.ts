// What the hostile tests share: a service whose unexpected errors are kept, and the promises every answer must keep.
import { AssertionError } from 'node:assert';
import type { Logger } from '../../src/contracts/logger.ts';
import type { Plugin } from '../../src/http/plugin.ts';
import type { TestBackend } from '../../src/testing/service/service-backends.ts';
import type { TestResponse, TestService } from '../../src/testing/service/service-client.ts';
import { allBackends } from '../support/backends.ts';

export const settings = {
  includes: 'default_bucket',
  experimental_permissions_endpoint: 'true',
  experimental_collection_schema_validation: 'true',
};

export interface WatchedService {
  readonly service: TestService;
  /** Everything the service logged as an error. */
  readonly errors: unknown[];
}

/** Starts a service with all features of this version. */
export async function startWatched(
  backend: TestBackend,
  more: Readonly<Record<string, string>> = {},
  plugins: readonly Plugin[] = [],
): Promise<WatchedService> {
  const errors: unknown[] = [];
  const nothing = (): void => undefined;
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (...given: unknown[]) => void errors.push(...given),
  };
  return { service: await backend.start({ settings: { ...settings, ...more }, logger, plugins }), errors };
}

export const backends: readonly TestBackend[] = allBackends;

const prototypeNames = Object.getOwnPropertyNames(Object.prototype).toSorted().join();

/** @throws AssertionError when the answer breaks a promise that holds for every answer */
export function requireDecent(label: string, response: TestResponse, hasNoJson = false): void {
  const complain = (what: string): never => {
    throw new AssertionError({ message: `${label}\n${what}: ${response.status} ${response.text.slice(0, 300)}` });
  };
  if (response.status >= 500 || response.status < 200) complain('an answer that blames the service');
  if (Object.getOwnPropertyNames(Object.prototype).toSorted().join() !== prototypeNames)
    complain('a changed prototype');
  if (hasNoJson || response.status === 304 || response.status === 204) return;
  if (response.status === 307) return;
  const { body } = response;
  if (body === undefined) complain('an answer that is no JSON');
  if (response.status < 400) return;
  const { code, errno, error, message, details } = body as Record<string, unknown>;
  if (code !== response.status || typeof errno !== 'number' || typeof error !== 'string')
    complain('a wrong error body');
  if (message !== undefined && typeof message !== 'string') complain('a message that is no text');
  if (errno === 107 && details !== undefined && !Array.isArray(details)) complain('details that are no list');
}
