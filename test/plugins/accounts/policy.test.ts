// How often the policy does its slow work, which is what can be told from the time it takes.
import { describe, expect, it } from 'vitest';
import { createMemoryCache } from '../../../src/backends/memory/cache.ts';
import { createMemorySecurityState } from '../../../src/backends/memory/security-state.ts';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { createPasswords, type Passwords } from '../../../src/plugins/accounts/passwords.ts';
import { AccountsPolicy } from '../../../src/plugins/accounts/policy.ts';
import { Throttle } from '../../../src/plugins/accounts/throttle.ts';
import { createTestClock, type TestClock } from '../../../src/testing/index.ts';
import { basic } from './service.ts';

interface Setup {
  readonly clock: TestClock;
  /** The user id that credentials lead to. */
  readonly ask: (user: string, password: string) => Promise<string | undefined>;
  /** Slow checks since the last time this was asked. */
  readonly checks: () => number;
}

async function setUp(): Promise<Setup> {
  const clock = createTestClock();
  const cache = createMemoryCache({ clock });
  const state = createMemorySecurityState({ clock, maxEntries: 1000, maxEntriesPerRequester: 1000 });
  const database = createMemoryDatabase({ clock });
  const storage = createMemoryStorage(database);
  const real = createPasswords({ cost: 10, atOnce: 2, waiting: 10 });
  let count = 0;
  const passwords: Passwords = {
    hash: (password) => real.hash(password),
    matches(password, hash) {
      count++;
      return real.matches(password, hash);
    },
  };
  const transaction = await database.begin();
  const text = JSON.stringify({ password: await real.hash('right') });
  await storage.writer(transaction).create({ kind: 'account', parent: '' }, 'zoe', text);
  await transaction.commit();
  const policy = new AccountsPolicy({
    realm: 'Realm',
    secret: 'secret',
    cache,
    storage: storage.reader,
    passwords,
    throttle: new Throttle(state, 'secret', {
      windowSeconds: 300,
      failuresPerAccount: 20,
      failuresPerAddress: 100,
      knownAddressesPerAccount: 50,
    }),
    cacheTtlSeconds: 30,
    maxIdLength: 512,
    isFollowed: false,
    temporary: undefined,
  });
  return {
    clock,
    ask: (user, password) => policy.authenticate({ headers: { authorization: basic(user, password) } }),
    checks() {
      const sum = count;
      count = 0;
      return sum;
    },
  };
}

describe('the accounts policy', () => {
  it('A user who does not exist takes as many slow checks as one who does.', async () => {
    const { ask, checks } = await setUp();
    expect(await ask('zoe', 'wrong')).toBeUndefined();
    expect(checks()).toBe(1);
    expect(await ask('nobody', 'wrong')).toBeUndefined();
    expect(checks()).toBe(1);
    // Asked again with the same credentials, neither takes any.
    await ask('zoe', 'wrong');
    await ask('nobody', 'wrong');
    expect(checks()).toBe(0);
  });

  it('A good password is checked the slow way once, for as long as it is in use.', async () => {
    const { ask, checks, clock } = await setUp();
    expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(1);
    for (let n = 0; n < 3; n++) expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(0);
    clock.advance(31_000);
    expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(1);
  });

  it('A wrong password beside a good one is told apart without harm to it.', async () => {
    const { ask, checks } = await setUp();
    await ask('zoe', 'right');
    expect(await ask('zoe', 'right ')).toBeUndefined();
    expect(await ask('zoe', '')).toBeUndefined();
    expect(checks()).toBe(3);
    expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(0);
  });

  it('Requests that arrive together with the same credentials wait for one check.', async () => {
    const { ask, checks } = await setUp();
    await Promise.all(Array.from({ length: 10 }, () => ask('zoe', 'right')));
    expect(checks()).toBe(1);
  });

  it('What cannot be the name of an account is not checked at all.', async () => {
    const { ask, checks } = await setUp();
    for (const name of ['-x', 'ä', ' zoe', 'zoe\n', '__proto__', 'x'.repeat(513)]) {
      expect(await ask(name, 'x')).toBeUndefined();
    }
    expect(checks()).toBe(0);
  });
});
