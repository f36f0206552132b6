// Wraps authentication policies, so that what they are asked is observed.
import type { AuthenticationPolicy, Credentials } from '../contracts/authentication.ts';
import type { Observer } from '../contracts/observer.ts';
import { withMethods } from './with-methods.ts';

/** The same policy, observed. Whatever else it holds is still its own. */
export function observePolicy(policy: AuthenticationPolicy, observer: Observer): AuthenticationPolicy {
  const authenticate: AuthenticationPolicy['authenticate'] = async (credentials: Credentials) => {
    const startedAt = performance.now();
    let isRecognised = false;
    try {
      const found = await policy.authenticate(credentials);
      isRecognised = found !== undefined;
      return found;
    } finally {
      const milliseconds = performance.now() - startedAt;
      observer.observe({ kind: 'authentication', policy: policy.name, milliseconds, isRecognised });
    }
  };
  return withMethods(policy, { authenticate });
}
