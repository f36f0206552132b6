// Hashing and checking of passwords: off the event loop, a few at a time, and as slow for accounts that do not exist as
// for others.
import { TaskLimit, TooManyTasks, type TaskLimitOptions } from '../../base/task-limit.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { hashWithScrypt, matchesScrypt, unmatchableHash } from './scrypt-hash.ts';

export interface Passwords {
  /** @throws BackendUnavailable when too many are waiting */
  hash(password: string): Promise<string>;
  /**
   * Whether the password has the hash. Without one the same work is done, and the answer is no.
   *
   * @throws BackendUnavailable when too many are waiting
   */
  matches(password: string, hash: string | undefined): Promise<boolean>;
}

/** Passwords with new hashes of the given cost. */
export function createPasswords({ cost, ...limits }: TaskLimitOptions & { readonly cost: number }): Passwords {
  const limit = new TaskLimit(limits);
  const decoy = unmatchableHash(cost);
  const run = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await limit.run(task);
    } catch (error) {
      if (!(error instanceof TooManyTasks)) throw error;
      throw new BackendUnavailable('accounts', 'too many passwords are waiting to be checked', { cause: error });
    }
  };
  return {
    hash: (password) => run(() => hashWithScrypt(password, cost)),
    matches: (password, hash) => run(() => check(password, hash, decoy)),
  };
}

/** `$2b$12$…` as existing deployments have it; a cost that takes minutes is not theirs. */
const bcryptForm = /^\$2[aby]\$(?:0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}$/;

async function check(password: string, hash: string | undefined, decoy: string): Promise<boolean> {
  if (hash !== undefined && bcryptForm.test(hash)) {
    const { compare } = await import('bcryptjs');
    return compare(password, hash);
  }
  const matches = hash === undefined ? undefined : await matchesScrypt(password, hash);
  if (matches !== undefined) return matches;
  await matchesScrypt(password, decoy);
  return false;
}
