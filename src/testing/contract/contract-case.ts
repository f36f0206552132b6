// What a contract suite is made of: named cases as data, to be run by whatever test runner a backend's author uses,
// and the contexts that author provides. Assertions throw `AssertionError` of node:assert.
import type { Clock } from '../../base/clock.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { Database } from '../../contracts/database.ts';
import type { PermissionBackend } from '../../contracts/permission.ts';
import type { StorageBackend } from '../../contracts/storage.ts';

/** What a case takes for granted and not every backend can do. */
export type Ability = 'rollback' | 'atomicAcrossParents';

export interface ContractCase<Context> {
  /** A whole sentence that says what holds. */
  readonly name: string;
  /** Abilities without which the case makes no sense for a backend; absent: none. */
  readonly needs?: readonly Ability[];
  /** Throws unless the sentence is true. The context must be empty and used for this case only. */
  run(context: Context): Promise<void>;
}

/** A clock that stands still until told otherwise. Hand it to the backend when opening it. */
export interface TestClock extends Clock {
  set(milliseconds: number): void;
  /** Negative numbers step back. */
  advance(milliseconds: number): void;
}

/** A clock at a fixed moment, or at the one given. */
export function createTestClock(start = 1_700_000_000_000): TestClock {
  let time = start;
  return {
    now: () => time,
    set(milliseconds) {
      time = milliseconds;
    },
    advance(milliseconds) {
      time += milliseconds;
    },
  };
}

export interface StorageContext {
  readonly database: Database;
  readonly storage: StorageBackend;
  /** The clock that the backend was opened with. */
  readonly clock: TestClock;
}

export interface PermissionContext {
  readonly database: Database;
  readonly permission: PermissionBackend;
}

/** For a database that both backends share. */
export interface TransactionContext extends StorageContext, PermissionContext {}

export interface CacheContext {
  readonly cache: CacheBackend;
  /** The clock that the backend was opened with. */
  readonly clock: TestClock;
}

export type StorageCase = ContractCase<StorageContext>;
export type PermissionCase = ContractCase<PermissionContext>;
export type TransactionCase = ContractCase<TransactionContext>;
export type CacheCase = ContractCase<CacheContext>;

/** The abilities of the case that the database does not declare; run the case when there are none. */
export function missingAbilities(testCase: ContractCase<never>, database: Database): readonly Ability[] {
  return (testCase.needs ?? []).filter((ability) => !database.abilities[ability]);
}
