// What a login needs of an account. Users choose the other attributes, which may be long, and every request reads the account
// before anything is reserved for it. So long accounts are read in turn, and only a hash is kept of each.
import { getKey } from '../../base/json.ts';
import { TaskLimit } from '../../base/task-limit.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { accountList } from './account.ts';

export interface StoredLogin {
  /** Hash of the password; `undefined` when the account does not exist. */
  readonly hash: string | undefined;
  /** False only for an account whose address has yet to be confirmed. */
  readonly isValidated: boolean;
}

class AccountIsLong extends Error {}

export class StoredLogins {
  readonly #storage: StorageReader;
  readonly #turns = new TaskLimit({ atOnce: 1, waiting: Infinity });

  constructor(storage: StorageReader) {
    this.#storage = storage;
  }

  async find(user: string): Promise<StoredLogin> {
    try {
      return await this.#read(user, () => {
        throw new AccountIsLong();
      });
    } catch (error) {
      if (!(error instanceof AccountIsLong)) throw error;
      return this.#turns.run(() => this.#read(user));
    }
  }

  async #read(user: string, whenLong?: () => void): Promise<StoredLogin> {
    const account = await this.#storage.get(accountList, user, whenLong);
    if (account === undefined) return { hash: undefined, isValidated: true };
    const password = getKey(account.attributes, 'password');
    return {
      hash: typeof password === 'string' ? password : undefined,
      isValidated: getKey(account.attributes, 'validated') !== false,
    };
  }
}
