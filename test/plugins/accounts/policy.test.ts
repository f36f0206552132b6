// Number of slow password checks, which clients can measure as response time.
import { setImmediate } from 'node:timers/promises';
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
  /** Returns the user id of credentials. */
  readonly ask: (user: string, password: string, address?: string) => Promise<string | undefined>;
  /** Returns the number of slow checks since the last call. */
  readonly checks: () => number;
}

async function setUp({ isFollowed = false } = {}): Promise<Setup> {
  const clock = createTestClock();
  const cache = createMemoryCache({ clock });
  const state = createMemorySecurityState({ clock, maxEntries: 1000, maxEntriesPerRequester: 1000 });
  const database = createMemoryDatabase({ clock });
  const storage = createMemoryStorage(database);
  const real = createPasswords({ cost: 10, atOnce: 1, waiting: 100 });
  let count = 0;
  const passwords: Passwords = {
    ...real,
    matches(...given) {
      count++;
      return real.matches(...given);
    },
  };
  const transaction = await database.begin();
  const text = JSON.stringify({ password: await real.hash('right', { address: undefined }) });
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
    isFollowed,
    temporary: undefined,
  });
  return {
    clock,
    ask: (user, password, address) =>
      policy.authenticate({ headers: { authorization: basic(user, password) }, address }).then((found) => found?.id),
    checks() {
      const sum = count;
      count = 0;
      return sum;
    },
  };
}

describe('the accounts policy', () => {
  it('does as many slow checks for missing users as for existing ones.', async () => {
    const { ask, checks } = await setUp();
    expect(await ask('zoe', 'wrong')).toBeUndefined();
    expect(checks()).toBe(1);
    expect(await ask('nobody', 'wrong')).toBeUndefined();
    expect(checks()).toBe(1);
    // With repeated credentials, neither needs a slow check.
    await ask('zoe', 'wrong');
    await ask('nobody', 'wrong');
    expect(checks()).toBe(0);
  });

  it('checks a right password once while it is in use.', async () => {
    const { ask, checks, clock } = await setUp();
    expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(1);
    for (let n = 0; n < 3; n++) expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(0);
    clock.advance(31_000);
    expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(1);
  });

  it('does not count a wrong password again while it is repeated within the window.', async () => {
    const { ask, checks, clock } = await setUp();
    for (const seconds of [0, 200, 250]) {
      clock.advance(seconds * 1000);
      expect(await ask('zoe', 'old')).toBeUndefined();
    }
    expect(checks()).toBe(1);
    clock.advance(301_000);
    expect(await ask('zoe', 'old')).toBeUndefined();
    expect(checks()).toBe(1);
  });

  it('refuses a wrong password without affecting a cached right one.', async () => {
    const { ask, checks } = await setUp();
    await ask('zoe', 'right');
    expect(await ask('zoe', 'right ')).toBeUndefined();
    expect(await ask('zoe', '')).toBeUndefined();
    expect(checks()).toBe(3);
    expect(await ask('zoe', 'right')).toBe('zoe');
    expect(checks()).toBe(0);
  });

  it('shares one check among concurrent requests with the same credentials.', async () => {
    const { ask, checks } = await setUp();
    await Promise.all(Array.from({ length: 10 }, () => ask('zoe', 'right')));
    expect(checks()).toBe(1);
  });

  it('does not check names that no account can have.', async () => {
    const { ask, checks } = await setUp();
    for (const name of ['-x', 'ä', ' zoe', 'zoe\n', '__proto__', 'x'.repeat(513)]) {
      expect(await ask(name, 'x')).toBeUndefined();
    }
    expect(checks()).toBe(0);
  });

  it('passes unknown names on without a check above the limit of their address.', async () => {
    const { ask, checks } = await setUp({ isFollowed: true });
    for (let n = 0; n < 110; n++) expect(await ask(`unknown${n}`, 'x', '192.0.2.1')).toBeUndefined();
    expect(checks()).toBe(100);
    expect(await ask('unknown', 'x', '192.0.2.2')).toBeUndefined();
    expect(checks()).toBe(1);
  });

  it('checks a login from a known address before guesses that wait, whatever their number of addresses.', async () => {
    const { ask, clock } = await setUp();
    expect(await ask('zoe', 'right', '192.0.2.1')).toBe('zoe');
    clock.advance(31_000);
    const done: string[] = [];
    const guesses = Array.from({ length: 50 }, async (_, n) => {
      await ask(`user${n % 10}`, `guess ${n}`, `198.51.100.${n}`);
      done.push('guess');
    });
    await setImmediate();
    const before = done.length;
    expect(await ask('zoe', 'right', '192.0.2.1')).toBe('zoe');
    expect(done.length - before).toBeLessThan(4);
    await Promise.all(guesses);
  });

  it('checks guesses from unknown addresses between logins from a known one.', async () => {
    const { ask, clock } = await setUp();
    expect(await ask('zoe', 'right', '192.0.2.1')).toBe('zoe');
    clock.advance(31_000);
    const done: string[] = [];
    const logins = Array.from({ length: 15 }, async (_, n) => {
      await ask('zoe', `mistake ${n}`, '192.0.2.1');
      done.push('known');
    });
    await setImmediate();
    const before = done.length;
    await ask('ann', 'x', '198.51.100.1');
    expect(done.length - before).toBeLessThan(4);
    await Promise.all(logins);
  });
});
