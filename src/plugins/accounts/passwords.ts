// Hashing and verification of passwords, with limited concurrency outside of the event loop. Verification takes the
// same time for accounts that do not exist.
import { TaskLimit, TooManyTasks, type TaskLimitOptions } from '../../base/task-limit.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { hashWithScrypt, matchesScrypt, unmatchableHash } from './scrypt-hash.ts';

export interface Passwords {
  /**
   * Hashes a password.
   *
   * @throws BackendUnavailable when the queue is full
   */
  hash(password: string): Promise<string>;
  /**
   * Returns whether the password matches the hash. Without a hash it does the same work and returns `false`.
   *
   * @throws BackendUnavailable when the queue is full
   */
  matches(password: string, hash: string | undefined): Promise<boolean>;
}

/** Creates the functions, with the cost of new hashes. */
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

/** Hashes of existing deployments such as `$2b$12$…`. Costs that take minutes are refused. */
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
