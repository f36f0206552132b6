// Logins: caching of verified and refused passwords, limits of failed logins, and imported hashes.
import { hash as hashBcrypt } from 'bcryptjs';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createTestClock, type TestRequest, type TestResponse, type TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { accountSettings, basic, importAccount, logIn, openDoor, signUp, startAccounts, tryLogin } from './service.ts';

const strict = { account_login_failures_per_account: '3', account_login_failures_per_address: '5' };

forEachBackend((backend) => {
  describe(`limits on failed logins on ${backend.name}`, () => {
    it('an account has a failure limit for all addresses together, and recovers after the window.', async () => {
      const clock = createTestClock();
      const service = await backend.start({ clock, settings: { ...accountSettings, ...strict } });
      try {
        await signUp(service, 'zoe', 'right');
        for (const n of [1, 2, 3]) expect(await logIn(service, 'zoe', `wrong ${n}`, `198.51.100.${n}`)).toBe(401);
        const refused = await tryLogin(service, 'zoe', 'right', '198.51.100.9');
        expect(refused).toMatchObject({ status: 429, body: { code: 429, errno: 117 } });
        expect(refused.headers['retry-after']).toBe('300');
        // Other accounts are not affected.
        await signUp(service, 'ann', 'right');
        expect(await logIn(service, 'ann', 'right', '198.51.100.9')).toBe(200);
        clock.advance(301_000);
        expect(await logIn(service, 'zoe', 'right', '198.51.100.9')).toBe(200);
      } finally {
        await service.close();
      }
    });
  });
});

forEachBackend((backend) => {
  describe(`a password in constant use on ${backend.name}`, () => {
    let service: TestService;

    beforeEach(async () => {
      // A verified password stays cached while it is in use.
      service = await backend.start({ settings: { ...accountSettings, ...strict, account_cache_ttl_seconds: '300' } });
      await signUp(service, 'zoe', 'right');
      expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(200);
    });
    afterEach(() => service.close());

    it('is not confirmed to another address above the failure limit.', async () => {
      for (const n of [1, 2, 3]) expect(await logIn(service, 'zoe', `wrong ${n}`, '198.51.100.1')).toBe(401);
      expect(await logIn(service, 'zoe', 'right', '198.51.100.1')).toBe(429);
      expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(200);
      expect(await logIn(service, 'zoe', 'right', '198.51.100.1')).toBe(429);
    });

    it('is not confirmed to the same address above the failure limit.', async () => {
      for (const n of [1, 2, 3]) expect(await logIn(service, 'zoe', `wrong ${n}`, '192.0.2.7')).toBe(401);
      expect(await logIn(service, 'zoe', 'wrong 4', '192.0.2.7')).toBe(429);
      expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(429);
    });

    it('is not confirmed to one of many concurrent guesses.', async () => {
      const guesses = Array.from({ length: 30 }, (_, n) => (n === 29 ? 'right' : `wrong ${n}`));
      const statuses = await Promise.all(guesses.map((guess) => logIn(service, 'zoe', guess, '192.0.2.7')));
      expect(statuses.filter((status) => status === 401)).toHaveLength(3);
      expect(statuses.at(-1)).toBe(429);
    });
  });
});

describe('limits on failed logins', () => {
  it('guesses do not lock out the owner, because known addresses have their own counter.', async () => {
    const clock = createTestClock();
    const service = await startAccounts({ clock, settings: { ...strict, account_cache_ttl_seconds: '0' } });
    await signUp(service, 'zoe', 'right');
    expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(200);
    for (const n of [1, 2, 3, 4]) await logIn(service, 'zoe', `wrong ${n}`, `198.51.100.${n}`);
    expect(await logIn(service, 'zoe', 'right', '198.51.100.1')).toBe(429);
    expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(200);
    // A known address has a limit too.
    for (const n of [1, 2, 3]) expect(await logIn(service, 'zoe', `mistake ${n}`, '192.0.2.7')).toBe(401);
    expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(429);
  });

  it('the next owner of a name does not inherit the known addresses of the former one.', async () => {
    const settings = { ...strict, account_cache_ttl_seconds: '0', account_known_addresses_max: '2' };
    const service = await startAccounts({ settings });
    await signUp(service, 'zoe', 'squat');
    for (const n of [1, 2]) expect(await logIn(service, 'zoe', 'squat', `198.51.100.${n}`)).toBe(200);
    const headers = { Authorization: basic('zoe', 'squat') };
    expect((await service.request('DELETE', '/v1/accounts/zoe', { headers })).status).toBe(200);
    await signUp(service, 'zoe', 'right');
    // The owner has places for known addresses, and the former one has the budget of unknown addresses.
    expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(200);
    const guess = (n: number): Promise<number> => logIn(service, 'zoe', `guess ${n}`, `198.51.100.${1 + (n % 2)}`);
    for (const n of [1, 2, 3]) expect(await guess(n)).toBe(401);
    for (const n of [4, 5]) expect(await guess(n)).toBe(429);
    expect(await logIn(service, 'zoe', 'right', '192.0.2.7')).toBe(200);
  });

  it('an address has a failure limit for all accounts together, existing or not.', async () => {
    const service = await startAccounts({ settings: strict });
    await signUp(service, 'zoe', 'right');
    for (const n of [1, 2, 3, 4]) expect(await logIn(service, `nobody${n}`, 'x', '2001:db8::1')).toBe(401);
    expect(await logIn(service, 'zoe', 'wrong', '2001:db8::2')).toBe(401);
    expect(await logIn(service, 'zoe', 'right', '2001:db8::3')).toBe(429);
    expect(await logIn(service, 'zoe', 'right', '2001:db8:0:1::3')).toBe(200);
  });

  it('accounts that do not exist have the same limits as others.', async () => {
    const service = await startAccounts({ settings: strict });
    for (const n of [1, 2, 3]) expect(await logIn(service, 'nobody', `wrong ${n}`, `192.0.2.${n}`)).toBe(401);
    expect(await logIn(service, 'nobody', 'wrong 4', '192.0.2.4')).toBe(429);
  });

  it('concurrent attempts have the same limit as sequential ones.', async () => {
    const service = await startAccounts({ settings: strict });
    await signUp(service, 'zoe', 'right');
    const guesses = Array.from({ length: 12 }, (_, n) => logIn(service, 'zoe', `wrong ${n}`, `198.51.100.${n}`));
    const statuses = await Promise.all(guesses);
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(3);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });

  it('each entry of a batch with other credentials is an attempt.', async () => {
    const service = await startAccounts({ settings: strict });
    await signUp(service, 'zoe', 'right');
    const requests = Array.from({ length: 6 }, (_, n) => ({
      path: '/accounts',
      headers: { Authorization: basic('zoe', `wrong ${n}`) },
    }));
    const { body } = await service.request('POST', '/v1/batch', { body: { requests } });
    const statuses = (body as { responses: { status: number }[] }).responses.map(({ status }) => status);
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
  });

  it('a client that repeats an old password counts once.', async () => {
    const service = await startAccounts({ settings: strict });
    await signUp(service, 'zoe', 'right');
    for (let n = 0; n < 10; n++) expect(await logIn(service, 'zoe', 'old')).toBe(401);
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
  });

  it('concurrent requests of one client are one attempt.', async () => {
    const service = await startAccounts({ settings: strict });
    await signUp(service, 'zoe', 'right');
    const statuses = await Promise.all(Array.from({ length: 20 }, () => logIn(service, 'zoe', 'right')));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('a limit of 0 means unlimited.', async () => {
    const settings = { account_login_failures_per_account: '0', account_login_failures_per_address: '0' };
    const service = await startAccounts({ settings });
    await signUp(service, 'zoe', 'right');
    for (let n = 0; n < 30; n++) expect(await logIn(service, 'zoe', `wrong ${n}`)).toBe(401);
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
  });

  it('an address is the same with any port that a proxy adds.', async () => {
    for (const address of ['192.0.2.1', '[2001:db8::1]']) {
      const service = await startAccounts({ settings: strict });
      for (const n of [1, 2, 3, 4, 5])
        expect(await logIn(service, `nobody${n}`, 'x', `${address}:${50_000 + n}`)).toBe(401);
      expect(await logIn(service, 'nobody6', 'x', `${address}:50006`)).toBe(429);
      expect(await logIn(service, 'nobody7', 'x', address)).toBe(429);
    }
  });

  it('an address header is accepted only from trusted proxies.', async () => {
    const service = await startAccounts({ settings: { ...strict, trusted_proxies: '' } });
    for (const n of [1, 2, 3, 4, 5]) expect(await logIn(service, `nobody${n}`, 'x', `192.0.2.${n}`)).toBe(401);
    expect(await logIn(service, 'nobody6', 'x', '192.0.2.6')).toBe(429);
  });
});

describe('passwords that change', () => {
  it('an old password is invalid at once in every process, even if cached.', async () => {
    const { url, drop } = await cloneDatabase();
    onTestFinished(drop);
    const settings = {
      storage_backend: 'postgresql',
      storage_url: url,
      permission_backend: 'postgresql',
      permission_url: url,
    };
    // Two services on one store, each with its own cache.
    const [one, other] = [await startAccounts({ settings }), await startAccounts({ settings })];
    await signUp(one, 'zoe', 'first');
    expect(await logIn(one, 'zoe', 'first')).toBe(200);
    expect(await logIn(other, 'zoe', 'first')).toBe(200);
    const change = { headers: { Authorization: basic('zoe', 'first') }, body: { data: { password: 'second' } } };
    expect((await one.request('PATCH', '/v1/accounts/zoe', change)).status).toBe(200);
    expect(await logIn(other, 'zoe', 'first')).toBe(401);
    expect(await logIn(one, 'zoe', 'first')).toBe(401);
    expect(await logIn(other, 'zoe', 'second')).toBe(200);
  });

  it('an account that is not validated cannot log in.', async () => {
    const door = openDoor();
    const service = await startAccounts({ plugins: [door.plugin] });
    await signUp(service, 'zoe', 'right');
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
    const account = await door.stores().storage.reader.get({ kind: 'account', parent: '' }, 'zoe');
    await importAccount(door.stores(), 'zoe', { ...account?.attributes, validated: false });
    expect(await logIn(service, 'zoe', 'right')).toBe(401);
  });
});

describe('what responses show in place of a password', () => {
  it('never becomes a password.', async () => {
    const service = await startAccounts();
    const mask = '**********';
    expect((await signUp(service, 'zoe', mask)).status).toBe(400);
    expect((await signUp(service, 'zoe', 'the first one')).status).toBe(201);
    const as = (password: string): TestRequest => ({ headers: { Authorization: basic('zoe', password) } });
    const { body } = await service.request('GET', '/v1/accounts/zoe', as('the first one'));
    const hash = (body as { data: { password: string } }).data.password;
    expect(hash).toMatch(/^\$scrypt\$/);
    expect((await signUp(service, 'max', hash)).status).toBe(400);
    const change = (from: string, to: string): Promise<TestResponse> =>
      service.request('PUT', '/v1/accounts/zoe', { ...as(from), body: { data: { password: to } } });
    expect((await change('the first one', 'the second one')).status).toBe(200);
    // A client that has read the account before the change writes it back.
    expect((await change('the second one', hash)).status).toBe(400);
    const outdated = { Authorization: basic('zoe', 'the second one'), 'If-Match': '"1"' };
    const late = { headers: outdated, body: { data: { password: hash } } };
    expect((await service.request('PUT', '/v1/accounts/zoe', late)).status).toBe(412);
    expect(await logIn(service, 'zoe', hash)).toBe(401);
    expect((await change('the second one', mask)).status).toBe(200);
    expect(await logIn(service, 'zoe', 'the second one')).toBe(200);
  });
});

describe('imported hashes', () => {
  it('bcrypt hashes are accepted, and replaced by scrypt when the password changes.', async () => {
    const door = openDoor();
    const service = await startAccounts({ plugins: [door.plugin] });
    await importAccount(door.stores(), 'zoe', { password: await hashBcrypt('right', 4) });
    expect(await logIn(service, 'zoe', 'wrong')).toBe(401);
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
    const change = { headers: { Authorization: basic('zoe', 'right') }, body: { data: { password: 'new' } } };
    const { body } = await service.request('PATCH', '/v1/accounts/zoe', change);
    expect(body).toMatchObject({ data: { password: expect.stringMatching(/^\$scrypt\$ln=10,/) } });
    expect(await logIn(service, 'zoe', 'new')).toBe(200);
  });

  it('a password of megabytes in a batch is refused, and one that is too long counts as a failure.', async () => {
    const door = openDoor();
    const service = await startAccounts({ plugins: [door.plugin], settings: strict });
    await importAccount(door.stores(), 'zoe', { password: await hashBcrypt('right', 4) });
    const send = (chars: number): Promise<TestResponse> => {
      const headers = { Authorization: basic('zoe', 'y'.repeat(chars)) };
      return service.request('POST', '/v1/batch', { body: { requests: [{ path: '/accounts', headers }] } });
    };
    const refused = await send(3_000_000);
    expect(refused).toMatchObject({
      status: 400,
      body: { details: [{ location: 'body', name: 'requests.0.headers' }] },
    });
    for (const [chars, status] of [
      [20_001, 401],
      [20_002, 401],
      [20_003, 401],
      [20_004, 429],
    ] as const) {
      expect(await send(chars)).toMatchObject({ status: 200, body: { responses: [{ status }] } });
    }
  });

  it('a password with null characters cannot be set, nor stand for the one before them.', async () => {
    const service = await startAccounts();
    expect((await signUp(service, 'zoe', 'right\0')).status).toBe(400);
    expect((await signUp(service, 'zoe', 'right')).status).toBe(201);
    expect(await logIn(service, 'zoe', 'right\0')).toBe(401);
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
  });

  it.each([
    '',
    'plain',
    '$2b$31$abcdefghijklmnopqrstuuKnAjcbbnhCzXw8pOkP1hJJ5V9rqwBvW',
    '$scrypt$ln=31,r=8,p=1$c2FsdHNhbHQ$aaaaaaaaaaaaaaaaaaaaaaaa',
  ])('an invalid hash such as %j matches no password.', async (password) => {
    const door = openDoor();
    const service = await startAccounts({ plugins: [door.plugin] });
    await importAccount(door.stores(), 'zoe', { password });
    expect(await logIn(service, 'zoe', password)).toBe(401);
  });
});

describe('many passwords at once', () => {
  it('a login with a full queue gets 503 and does not count as failed.', async () => {
    const settings = { ...strict, account_hashes_at_once: '1', account_hashes_waiting: '0', account_hash_cost: '14' };
    const service = await startAccounts({ settings });
    await signUp(service, 'zoe', 'right');
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => tryLogin(service, `nobody${n}`, 'x', '192.0.2.1')),
    );
    const busy = answers.filter(({ status }) => status === 503);
    expect(busy.length).toBeGreaterThan(0);
    expect(busy[0]).toMatchObject({ headers: { 'retry-after': '3' }, body: { errno: 201 } });
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
  });

  it.each([
    ['address', () => '192.0.2.9'],
    ['network of IPv6 addresses', (n: number) => `2001:db8:77:${n}::1`],
  ])('a login succeeds while another %s fills the queue.', async (_name, addressOf) => {
    const settings = { account_hashes_at_once: '1', account_hashes_waiting: '10', account_hash_cost: '15' };
    const service = await startAccounts({ settings });
    await signUp(service, 'zoe', 'right');
    const body = { data: { password: 'x' } };
    const flood = Array.from({ length: 30 }, (_, n) =>
      service.request('PUT', `/v1/accounts/flood${n}`, { headers: { 'X-Forwarded-For': addressOf(n) }, body }),
    );
    // The queue is full when the first one is refused.
    await Promise.race(
      flood.map(async (answer) => ((await answer).status === 503 ? undefined : new Promise(() => {}))),
    );
    expect(await logIn(service, 'zoe', 'right')).toBe(200);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([201, 503]));
  });
});
