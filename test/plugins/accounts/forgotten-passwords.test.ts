// Temporary passwords, which the owners of accounts get by mail.
import { describe, expect, it } from 'vitest';
import { createTestClock, type TestResponse, type TestService } from '../../../src/testing/index.ts';
import { activate, change, pauseAfterHold, requestReset, start, startWithAccount, zoe } from './mailed-accounts.ts';
import { basic, logIn, signUp, tryLogin } from './service.ts';

describe('forgotten passwords', () => {
  it('the response does not reveal whether the account exists.', async () => {
    const { service, sink } = await startWithAccount();
    const [known, unknown] = [await requestReset(service, zoe), await requestReset(service, 'unknown@example.org')];
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
    await sink.received(3);
    expect(sink.letters.at(-1)?.to).toEqual([zoe]);
  });

  it('an id that is not an e-mail address is refused.', async () => {
    const { service } = await start();
    expect(await requestReset(service, 'zoe')).toMatchObject({ status: 400, body: { details: [{ name: 'data.id' }] } });
  });

  it('the request can set placeholders of the mail.', async () => {
    const { service, sink } = await startWithAccount({
      'account_validation.email_reset_password_body_template': '{greeting} {reset-password}',
    });
    const context = { greeting: 'Hallo', 'reset-password': 'forged' };
    expect((await requestReset(service, zoe, { 'email-context': context })).status).toBe(200);
    const letters = await sink.received(3);
    expect(letters[2]!.text).toMatch(/^Hallo [\da-f-]{36}$/);
    for (const body of [{ data: { 'email-context': { a: 1 } } }, { data: [] }, [], { other: 1 }]) {
      expect((await service.request('POST', `/v1/accounts/${zoe}/reset-password`, { body })).status).toBe(400);
    }
    expect((await service.request('POST', `/v1/accounts/${zoe}/reset-password`, { raw: '{' })).status).toBe(400);
  });

  it('a temporary password can only set a new password.', async () => {
    const { service, sink } = await startWithAccount();
    await signUp(service, 'ann@example.org', 'x');
    await sink.received(3);
    await requestReset(service, zoe);
    const letters = await sink.received(4);
    const { text: temporary } = letters[3]!;
    const refused: readonly (readonly [string, string, unknown])[] = [
      ['PUT', zoe, { data: { password: 'new', name: 'x' } }],
      ['PUT', zoe, { data: { password: 'new' }, permissions: { read: ['system.Everyone'] } }],
      ['PUT', zoe, { data: {} }],
      ['PATCH', zoe, { data: { name: 'x' } }],
      ['GET', zoe, undefined],
      ['DELETE', zoe, { data: { password: 'new' } }],
      ['PUT', 'ann@example.org', { data: { password: 'new' } }],
    ];
    const headers = { Authorization: basic(zoe, temporary) };
    for (const [method, id, body] of refused) {
      expect([method, body, (await service.request(method, `/v1/accounts/${id}`, { headers, body })).status]).toEqual([
        method,
        body,
        401,
      ]);
    }
    const set = { method: 'PATCH', path: `/accounts/${zoe}`, body: { data: { password: 'new' } } };
    const requests = [{ path: '/accounts' }, set, { path: '/accounts' }];
    const batch = await service.request('POST', '/v1/batch', { headers, body: { requests } });
    expect((batch.body as { responses: { status: number }[] }).responses.map(({ status }) => status)).toEqual([
      401, 200, 401,
    ]);
    expect(await logIn(service, zoe, 'new')).toBe(200);
  });

  it('only the owner of the address makes addresses known, and loses those of others with a new password.', async () => {
    const { service, sink } = await start({
      account_login_failures_per_account: '3',
      account_known_addresses_max: '2',
      account_cache_ttl_seconds: '0',
    });
    const guessFrom = async (address: string, from: number): Promise<readonly number[]> => [
      await logIn(service, zoe, `guess ${from}`, address),
      await logIn(service, zoe, `guess ${from + 1}`, address),
      await logIn(service, zoe, `guess ${from + 2}`, address),
      await logIn(service, zoe, `guess ${from + 3}`, address),
    ];
    // A stranger signs up with the address, and uses all places for known addresses.
    await signUp(service, zoe, 'right');
    for (const n of [1, 2]) expect(await logIn(service, zoe, 'right', `198.51.100.${n}`)).toBe(401);
    await activate(service, zoe, (await sink.received(1))[0]!.text);
    expect(await logIn(service, zoe, 'right', '192.0.2.7')).toBe(200);
    expect(await guessFrom('198.51.100.1', 0)).toEqual([401, 401, 401, 429]);
    expect(await logIn(service, zoe, 'right', '192.0.2.7')).toBe(200);
    await requestReset(service, zoe);
    const { text: temporary } = (await sink.received(3))[2]!;
    expect((await change(service, zoe, temporary, { data: { password: 'new' } })).status).toBe(200);
    expect(await logIn(service, zoe, 'new', '192.0.2.7')).toBe(429);
  });

  it('a refused request does not use a temporary password up.', async () => {
    const { service, sink } = await startWithAccount();
    await requestReset(service, zoe);
    const { text: temporary } = (await sink.received(3))[2]!;
    const headers = { Authorization: basic(zoe, temporary) };
    const short = { data: { password: '' } };
    const mask = { data: { password: '**********' } };
    const body = { data: { password: 'new' } };
    const path = `/accounts/${zoe}`;
    const stale = { ...headers, 'If-Match': '"1"' };
    expect((await service.request('PUT', `/v1${path}`, { headers, body: mask })).status).toBe(401);
    expect((await service.request('PUT', `/v1${path}`, { headers, body: short })).status).toBe(400);
    expect((await service.request('PUT', `/v1${path}`, { headers: stale, body })).status).toBe(412);
    const requests = [
      { method: 'PUT', path, body: short },
      { method: 'PUT', path, body, headers: { 'If-Match': '"1"' } },
    ];
    const batch = await service.request('POST', '/v1/batch', { headers, body: { requests } });
    expect((batch.body as { responses: { status: number }[] }).responses.map(({ status }) => status)).toEqual([
      400, 412,
    ]);
    expect((await service.request('PUT', `/v1${path}`, { headers, body })).status).toBe(200);
  });

  it('one of two concurrent uses of a temporary password succeeds.', async () => {
    const { service, sink } = await startWithAccount();
    await requestReset(service, zoe);
    const letters = await sink.received(3);
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((password) => change(service, zoe, letters[2]!.text, { data: { password } })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
  });

  describe('a temporary password that a request holds', () => {
    const body = { data: { password: 'stolen' } };

    it.each([
      [
        'a change of the password',
        async (service: TestService): Promise<void> => {
          expect((await change(service, zoe, 'right', { data: { password: 'mine' } })).status).toBe(200);
        },
        'mine',
      ],
      [
        'the deletion of the account, also for the next one',
        async (service: TestService): Promise<void> => {
          expect((await change(service, zoe, 'right', undefined, 'DELETE')).status).toBe(200);
          await signUp(service, zoe, 'next');
        },
        'next',
      ],
    ])('is revoked by %s.', async (_, revoke, password) => {
      const { plugin, pauseWith } = pauseAfterHold();
      for (const headers of [{}, { 'If-Match': '"1"' }]) {
        const { service, sink } = await startWithAccount({}, { plugins: [plugin] });
        await requestReset(service, zoe);
        const { text: temporary } = (await sink.received(3))[2]!;
        pauseWith(() => revoke(service));
        const login = { Authorization: basic(zoe, temporary) };
        const held = await service.request('PUT', `/v1/accounts/${zoe}`, { headers: { ...login, ...headers }, body });
        expect(held.status).toBe('If-Match' in headers ? 412 : 401);
        expect((await change(service, zoe, temporary, body)).status).toBe(401);
        expect(await logIn(service, zoe, 'stolen')).toBe(401);
        await sink.received(password === 'next' ? 4 : 3);
        const [letter] = sink.letters.slice(3);
        if (letter !== undefined) await activate(service, zoe, letter.text);
        expect(await logIn(service, zoe, password)).toBe(200);
      }
    });
  });

  it('a temporary password works while other clients guess at the account.', async () => {
    const { service, sink } = await startWithAccount({ account_login_failures_per_account: '2' });
    for (const n of [1, 2, 3]) await logIn(service, zoe, `wrong ${n}`, '198.51.100.1');
    expect((await tryLogin(service, zoe, 'right', '198.51.100.2')).status).toBe(429);
    await requestReset(service, zoe);
    const letters = await sink.received(3);
    expect((await change(service, zoe, letters[2]!.text, { data: { password: 'new' } })).status).toBe(200);
  });

  it('an account gets a limited number of mails per hour for all requesters.', async () => {
    const clock = createTestClock();
    const { service, sink } = await startWithAccount({ 'account_validation.reset_mails_per_hour': '2' }, { clock });
    for (let n = 0; n < 5; n++) expect((await requestReset(service, zoe)).status).toBe(200);
    // The work after a response is done before the next response.
    await service.request('GET', '/v1/');
    clock.advance(3_601_000);
    expect((await requestReset(service, zoe)).status).toBe(200);
    await sink.received(5);
    await service.close();
    expect(sink.letters).toHaveLength(5);
  });

  it('an address can send a limited number of requests per hour.', async () => {
    const { service, sink } = await startWithAccount({
      'account_validation.reset_requests_per_address_per_hour': '1',
    });
    for (const id of ['unknown@example.org', zoe]) expect((await requestReset(service, id)).status).toBe(200);
    await service.close();
    expect(sink.letters).toHaveLength(2);
  });

  it('a request in a batch that runs again counts once.', async () => {
    const { service, sink } = await startWithAccount({
      'account_validation.reset_requests_per_address_per_hour': '2',
    });
    const headers = { Authorization: basic(zoe, 'right') };
    for (const id of ['ann@example.org', 'bob@example.org']) {
      const requests = [
        { method: 'PUT', path: '/buckets/b' },
        { method: 'POST', path: `/accounts/${zoe}/reset-password` },
        {
          method: 'PUT',
          path: `/accounts/${id}`,
          body: { data: { password: 'long enough' } },
          headers: { Authorization: '' },
        },
      ];
      const batch = await service.request('POST', '/v1/batch', { headers, body: { requests } });
      expect(
        (batch.body as { responses: { status: number }[] }).responses.slice(1).map(({ status }) => status),
      ).toEqual([200, 201]);
    }
    // The activation and its confirmation, two temporary passwords, and two activations of the new accounts.
    await sink.received(6);
    await service.close();
  });

  it('clients with very many addresses do not block mails to others.', async () => {
    const { service, sink } = await startWithAccount({ security_state_max_entries: '100' });
    const path = '/v1/accounts/unknown@example.org/reset-password';
    const askFrom = (n: number): Promise<TestResponse> =>
      service.request('POST', path, { headers: { 'X-Forwarded-For': `198.51.100.${n}` } });
    for (let n = 0; n < 100; n++) expect((await askFrom(n)).status).toBe(200);
    expect((await requestReset(service, zoe)).status).toBe(200);
    await sink.received(3);
    await service.close();
  });

  it('a password reset does not validate an account.', async () => {
    const { service, sink } = await start();
    await signUp(service, zoe, 'right');
    await sink.received(1);
    await requestReset(service, zoe);
    const letters = await sink.received(2);
    const reset = letters.find(({ subject }) => subject.startsWith('Reset'))!;
    expect(await change(service, zoe, reset.text, { data: { password: 'new' } })).toMatchObject({
      status: 200,
      body: { data: { validated: false } },
    });
    expect(await logIn(service, zoe, 'new')).toBe(401);
  });
});
