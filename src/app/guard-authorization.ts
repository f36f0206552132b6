// Calls of an authorization policy, which is external code that runs while a request may hold locks: limited in time, and with
// checked results.
import { BackendUnavailable } from '../contracts/errors.ts';
import type { AuthorizationPolicy } from '../engine/access.ts';

export interface PolicyGuard {
  /** Name of the policy, for messages. */
  readonly name: string;
  /** Maximum time of a call. */
  readonly timeoutSeconds: number;
}

/**
 * Returns the policy with limited calls. A call that takes too long throws BackendUnavailable, and a list of ids that is none
 * throws TypeError.
 */
export function guardAuthorization(policy: AuthorizationPolicy, guard: PolicyGuard): AuthorizationPolicy {
  const decide: AuthorizationPolicy['decide'] = (question) => settle(guard, 'decide', policy.decide(question));
  if (policy.selectObjects === undefined) return { decide };
  return {
    decide,
    async selectObjects(question, shared) {
      const ids: unknown = await settle(guard, 'selectObjects', policy.selectObjects?.(question, shared));
      if (isListOfTexts(ids)) return ids;
      throw new TypeError(`The authorization policy ${guard.name} must return a list of ids from selectObjects.`);
    },
  };
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** Waits for a result that is a promise, for a limited time. */
function settle<T>({ name, timeoutSeconds }: PolicyGuard, method: string, result: T | Promise<T>): T | Promise<T> {
  if (typeof result !== 'object' || Array.isArray(result)) return result;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const message = `The authorization policy ${name} has not finished ${method} within ${timeoutSeconds} seconds (authorization_timeout_seconds).`;
      reject(new BackendUnavailable('authorization', message, { reason: 'no decision in time' }));
    }, timeoutSeconds * 1000);
  });
  return Promise.race([result, tooLate]).finally(() => clearTimeout(timer));
}
