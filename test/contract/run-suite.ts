// Runs the contract suites with vitest. A test file of a backend opens it and calls these functions.
import { describe, it } from 'vitest';
import type { CacheBackend } from '../../src/contracts/cache.ts';
import type { ChangeHints } from '../../src/contracts/change-hints.ts';
import type { Database } from '../../src/contracts/database.ts';
import type { SecurityState } from '../../src/contracts/security-state.ts';
import { silentLogger } from '../../src/contracts/logger.ts';
import {
  cacheCases,
  changeHintsCases,
  createTestClock,
  durableSecurityStateCases,
  missingAbilities,
  permissionCases,
  securityStateCases,
  storageCases,
  transactionCases,
  type ChangeHintsContext,
  type TestClock,
  type TransactionContext,
} from '../../src/testing/index.ts';

export interface OpenBackends extends Omit<TransactionContext, 'clock'> {
  /** Removes what the opening has created, after the database was closed. */
  readonly cleanUp?: () => Promise<void>;
}

/** Runs the suites of storage, permissions and transactions, each case on a store of its own. */
export function describeDatabase(name: string, open: (clock: TestClock) => Promise<OpenBackends>): void {
  const suites = { storage: storageCases, permissions: permissionCases, transactions: transactionCases };
  for (const [suite, cases] of Object.entries(suites)) {
    describe(`${suite} on ${name}`, () => {
      for (const testCase of cases) {
        it(testCase.name, async (test) => {
          const clock = createTestClock();
          const backends = await open(clock);
          try {
            const missing = missingAbilities(testCase, backends.database);
            if (missing.length > 0) test.skip(`needs ${missing.join(', ')}`);
            await testCase.run({ ...backends, clock });
          } finally {
            await closeAll(backends.database, backends.cleanUp);
          }
        });
      }
    });
  }
}

/** What opens the hints of a case, as processes do: each with a database of its own. */
export interface HintsChannel extends Pick<ChangeHintsContext, 'cut' | 'send'> {
  readonly open: () => Promise<Database>;
  readonly openElsewhere: () => Promise<Database>;
}

/** Runs the suite of change hints, each case on a channel of its own. */
export function describeHints(name: string, openChannel: () => Promise<HintsChannel>): void {
  describe(`change hints on ${name}`, () => {
    for (const testCase of changeHintsCases) {
      it(testCase.name, async () => {
        const { open, openElsewhere, cut, send } = await openChannel();
        const opened: { readonly hints: ChangeHints; readonly database: Database }[] = [];
        const opening = async (database: Database): Promise<ChangeHints> => {
          const hints = database.openHints!({ logger: silentLogger });
          opened.push({ hints, database });
          return hints;
        };
        try {
          await testCase.run({
            open: async () => opening(await open()),
            openElsewhere: async () => opening(await openElsewhere()),
            cut,
            send,
          });
        } finally {
          for (const { hints, database } of opened) {
            await hints.close();
            await database.close();
          }
        }
      });
    }
  });
}

/** Runs the cache suite, each case on a cache of its own. */
export function describeCache(
  name: string,
  open: (clock: TestClock) => Promise<{ readonly cache: CacheBackend; readonly cleanUp?: () => Promise<void> }>,
): void {
  describe(`cache on ${name}`, () => {
    for (const testCase of cacheCases) {
      it(testCase.name, async () => {
        const clock = createTestClock();
        const { cache, cleanUp } = await open(clock);
        try {
          await testCase.run({ cache, clock });
        } finally {
          await closeAll(cache, cleanUp);
        }
      });
    }
  });
}

/**
 * Runs the suite of security state, each case on an empty store.
 *
 * @param open creates the store of a case; `openAgain` opens that store once more, and is absent where that is impossible
 */
export function describeSecurityState(
  name: string,
  open: (clock: TestClock) => Promise<{
    readonly state: SecurityState;
    readonly openAgain?: () => Promise<SecurityState>;
    readonly cleanUp?: () => Promise<void>;
  }>,
  { isDurable = true }: { readonly isDurable?: boolean } = {},
): void {
  describe(`security state on ${name}`, () => {
    for (const testCase of isDurable ? [...securityStateCases, ...durableSecurityStateCases] : securityStateCases) {
      it(testCase.name, async () => {
        const clock = createTestClock();
        const { state, openAgain, cleanUp } = await open(clock);
        const others: SecurityState[] = [];
        try {
          await testCase.run({
            state,
            clock,
            async openAgain() {
              if (openAgain === undefined) return state;
              const other = await openAgain();
              others.push(other);
              return other;
            },
          });
        } finally {
          for (const other of others) await other.close();
          await closeAll(state, cleanUp);
        }
      });
    }
  });
}

async function closeAll(closable: Pick<Database, 'close'>, cleanUp: (() => Promise<void>) | undefined): Promise<void> {
  await closable.close();
  await cleanUp?.();
}
