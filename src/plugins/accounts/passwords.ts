// Hashes and checks passwords off the event loop, a limited number at a time. A check takes as long for a missing account
// as for an existing one.
import { TaskLimit, TooManyTasks, type TaskLimitOptions } from '../../base/task-limit.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { PendingWrite } from '../../engine/kind.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { partyOf } from '../../http/address-group.ts';
import { matchesBcrypt } from './bcrypt-hash.ts';
import { hashWithScrypt, matchesScrypt, unmatchableHash } from './scrypt-hash.ts';

/**
 * Maximum length of a password. Longer ones match nothing, and their checks take no longer. The same applies to passwords with
 * null characters, which scrypt ignores at the end.
 */
export const maxPasswordChars = 4096;

/** The client whose password is hashed or checked. */
export interface PasswordClient {
  /** Address of the client, where it is known. */
  readonly address: string | undefined;
  /** Whether the account was used from this address before; default: no. */
  readonly isKnown?: boolean;
}

/**
 * Networks of clients take turns, and in each its addresses. All unknown addresses together have the share of one known network,
 * so guesses from many addresses hardly delay logins from known ones.
 */
export interface Passwords {
  /**
   * Hashes a password.
   *
   * @throws BackendUnavailable when the queue is full
   */
  hash(password: string, client: PasswordClient): Promise<string>;
  /**
   * Returns whether the password has the hash. Without a hash it does the same work and returns `false`.
   *
   * @throws BackendUnavailable when the queue is full
   */
  matches(password: string, hash: string | undefined, client: PasswordClient): Promise<boolean>;
}

/** Creates the functions, with new hashes of the given cost. */
export function createPasswords({ cost, ...limits }: TaskLimitOptions & { readonly cost: number }): Passwords {
  const all = new TaskLimit(limits);
  // Tasks of unknown addresses take turns here first. At most `atOnce` of them are in `all` at a time, as one party.
  const unknown = new TaskLimit(limits);
  const decoy = unmatchableHash(cost);
  const run = async <T>({ address, isKnown = false }: PasswordClient, task: () => Promise<T>): Promise<T> => {
    const party = partyOf(undefined, address);
    try {
      return await (isKnown ? all.run(task, party) : unknown.run(() => all.run(task, 'unknown'), party));
    } catch (error) {
      if (!(error instanceof TooManyTasks)) throw error;
      throw new BackendUnavailable('accounts', 'too many passwords are waiting to be checked', { cause: error });
    }
  };
  return {
    hash: (password, client) => run(client, () => hashWithScrypt(password, cost)),
    matches: (password, hash, client) => run(client, () => check(password, hash, decoy)),
  };
}

async function check(password: string, hash: string | undefined, decoy: string): Promise<boolean> {
  if (hash !== undefined && password.length <= maxPasswordChars && !password.includes('\0')) {
    const matches = (await matchesBcrypt(password, hash)) ?? (await matchesScrypt(password, hash));
    if (matches !== undefined) return matches;
  }
  await matchesScrypt('', decoy);
  return false;
}

/** Password hashes computed before the list is locked, kept until the write uses them. */
export class PreparedHashes {
  readonly #passwords: Passwords;
  readonly #byUnit = new WeakMap<UnitOfWork, Map<string, string>>();

  constructor(passwords: Passwords) {
    this.#passwords = passwords;
  }

  /** Hashes a password that the unit of work will probably write. */
  async prepare(write: PendingWrite, password: string): Promise<void> {
    const { unit } = write;
    const hash = await this.#hash(write, password);
    const known = this.#byUnit.get(unit) ?? new Map<string, string>();
    known.set(password, hash);
    this.#byUnit.set(unit, known);
  }

  /** Returns the prepared hash once. A password that was not prepared is hashed now. */
  async take(write: PendingWrite, password: string): Promise<string> {
    const known = this.#byUnit.get(write.unit);
    const hash = known?.get(password);
    known?.delete(password);
    return hash ?? this.#hash(write, password);
  }

  #hash({ unit, request }: PendingWrite, password: string): Promise<string> {
    return unit.ahead(`hash ${password}`, () => this.#passwords.hash(password, { address: request.clientAddress }));
  }
}
