// The parts of a contract suite: named cases as data, which any test runner can run, and the contexts that the author of
// the backend provides. Assertions throw `AssertionError` of node:assert.
import type { Clock } from '../../base/clock.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import type { Database, PermissionBackend, StorageBackend } from './plain-contracts.ts';

/** An ability that a case needs and not every backend has. */
export type Ability = 'rollback' | 'atomicAcrossParents' | 'textSearch';

export interface ContractCase<Context> {
  /** A sentence that states the behaviour. */
  readonly name: string;
  /** Abilities that the case needs; absent: none. */
  readonly needs?: readonly Ability[];
  /** Throws unless the sentence is true. The context must be empty and used for this case only. */
  run(context: Context): Promise<void>;
}

/** A clock that only moves when a test moves it. Open the backend with it. */
export interface TestClock extends Clock {
  set(milliseconds: number): void;
  /** Negative numbers step back. */
  advance(milliseconds: number): void;
}

/** Returns a clock at a fixed time, or at the given one. */
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

/** The context of a database that both backends share. */
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

/** Returns the abilities of the case that the database lacks. The case runs when it lacks none. */
export function missingAbilities(testCase: ContractCase<never>, database: Database): readonly Ability[] {
  return (testCase.needs ?? []).filter((ability) => !database.abilities[ability]);
}
