// Accounts with e-mail addresses, from sign-up to password reset, with a mail server.
import { describe, expect, it } from 'vitest';
import type { Logger } from '../../../src/contracts/logger.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import { createTestClock, type TestResponse } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import {
  activate,
  change,
  mailSettings,
  pauseAfterHold,
  requestReset,
  start,
  startWithAccount,
  zoe,
} from './mailed-accounts.ts';
import { basic, logIn, signUp, startAccounts } from './service.ts';

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

forEachBackend((backend) => {
  describe(`accounts with e-mail addresses on ${backend.name}`, () => {
    it('a mail activates an account, and a forgotten password is replaced.', async () => {
      const sink = await startMailSink();
      const service = await backend.start({ settings: mailSettings(sink) });
      try {
        expect(await signUp(service, zoe, 'right')).toMatchObject({
          status: 201,
          body: { data: { validated: false } },
        });
        const [first] = await sink.received(1);
        expect(first).toMatchObject({ from: 'shop@example.org', to: [zoe], subject: 'Activate your account' });
        expect(first!.text).toMatch(uuid);
        expect(await logIn(service, zoe, 'right')).toBe(401);

        const activated = await activate(service, zoe, first!.text);
        expect(activated.status).toBe(200);
        expect(activated.body).toMatchObject({ id: zoe, validated: true, password: '**********' });
        expect(activated.body).not.toHaveProperty('data');
        expect(await logIn(service, zoe, 'right')).toBe(200);
        const [, second] = await sink.received(2);
        expect(second).toMatchObject({
          subject: `Account ${zoe} is active`,
          text: `The account ${zoe} is active now.`,
        });

        expect(await requestReset(service, zoe)).toMatchObject({ status: 200, body: { message: expect.any(String) } });
        const [, , third] = await sink.received(3);
        expect(third).toMatchObject({ subject: 'Reset your password', to: [zoe] });
        expect(await logIn(service, zoe, third!.text)).toBe(401);
        expect(await logIn(service, zoe, 'right')).toBe(200);
        expect(await change(service, zoe, third!.text, { data: { password: 'new' } })).toMatchObject({ status: 200 });
        expect(await logIn(service, zoe, 'new')).toBe(200);
        expect(await logIn(service, zoe, 'right')).toBe(401);
        expect((await change(service, zoe, third!.text, { data: { password: 'newer' } })).status).toBe(401);
      } finally {
        await service.close();
      }
    });
  });
});

describe('signing up', () => {
  it('the capability shows that accounts are validated.', async () => {
    const { service } = await start();
    const { body } = await service.request('GET', '/v1/');
    expect(body).toMatchObject({ capabilities: { accounts: { validation_enabled: true } } });
  });

  it('the id must be an e-mail address.', async () => {
    const { service, sink } = await start();
    const { status, body } = await signUp(service, 'zoe', 'right');
    expect(status).toBe(400);
    expect(body).toMatchObject({ details: [{ location: 'body', name: 'data.id' }] });
    expect(
      (await service.request('POST', '/v1/accounts', { body: { data: { id: 'zoe', password: 'x' } } })).status,
    ).toBe(400);
    expect(sink.letters).toEqual([]);
  });

  it('users cannot validate themselves.', async () => {
    const { service } = await startWithAccount();
    const answer = await signUp(service, 'eve@example.org', 'x', { validated: true });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ name: 'data.validated' }] } });
    expect((await signUp(service, 'eve@example.org', 'x', { validated: 'yes' })).status).toBe(400);
    for (const method of ['PUT', 'PATCH']) {
      const body = { data: { password: 'right', validated: false } };
      expect((await change(service, zoe, 'right', body, method)).status).toBe(403);
    }
    // An unchanged value is accepted, and an omitted value stays.
    const same = await change(service, zoe, 'right', { data: { password: 'right', validated: true } });
    expect(same).toMatchObject({ status: 200, body: { data: { validated: true } } });
    const left = await change(service, zoe, 'right', { data: { password: 'right' } });
    expect(left).toMatchObject({ status: 200, body: { data: { validated: true } } });
  });

  it('administrators set who is validated, and validated users get no mail.', async () => {
    const { service, sink } = await start();
    await signUp(service, 'root@example.org', 'r');
    const [letter] = await sink.received(1);
    await activate(service, 'root@example.org', letter!.text);
    await sink.received(2);
    const headers = { Authorization: basic('root@example.org', 'r') };
    const put = (data: object): Promise<TestResponse> =>
      service.request('PUT', `/v1/accounts/${zoe}`, { headers, body: { data } });
    expect(await put({ password: 'right', validated: true })).toMatchObject({
      status: 201,
      body: { data: { validated: true } },
    });
    expect(await logIn(service, zoe, 'right')).toBe(200);
    expect(await put({ password: 'right', validated: false })).toMatchObject({ body: { data: { validated: false } } });
    expect(await logIn(service, zoe, 'right')).toBe(401);
    expect(sink.letters).toHaveLength(2);
  });

  it('an activation key that a request holds is not valid for the next account of that name.', async () => {
    const { plugin, pauseWith } = pauseAfterHold();
    const { service, sink } = await start({}, { plugins: [plugin] });
    await signUp(service, 'root@example.org', 'r');
    await activate(service, 'root@example.org', (await sink.received(1))[0]!.text);
    await signUp(service, zoe, 'first');
    const { text: key } = (await sink.received(3))[2]!;
    pauseWith(async () => {
      expect((await service.request('DELETE', `/v1/accounts/${zoe}`, { headers: root })).status).toBe(200);
      await signUp(service, zoe, 'next');
    });
    const root = { Authorization: basic('root@example.org', 'r') };
    expect((await activate(service, zoe, key)).status).toBe(403);
    expect(await logIn(service, zoe, 'next')).toBe(401);
    const { text: nextKey } = (await sink.received(4))[3]!;
    expect((await activate(service, zoe, nextKey)).status).toBe(200);
    expect(await logIn(service, zoe, 'next')).toBe(200);
  });

  it('mails are made from templates with attributes of the account and keys of the service.', async () => {
    const { service, sink } = await start({
      'account_validation.email_subject_template': 'Welcome {name}',
      'account_validation.email_body_template':
        'https://{site}/{lang}?id={id}&key={activation-key}&{unknown}&{password}',
    });
    const context = { name: 'Zoe', lang: 'de', 'activation-key': 'forged', id: 'eve@example.org' };
    const answer = await signUp(service, zoe, 'right', { site: 'shop.example', 'email-context': context });
    expect(answer).toMatchObject({ status: 201, body: { data: { 'email-context': context } } });
    const [letter] = await sink.received(1);
    expect(letter).toMatchObject({ subject: 'Welcome Zoe', to: [zoe] });
    const [, key = ''] =
      /^https:\/\/shop\.example\/de\?id=zoe@example\.org&key=([\da-f-]+)&\{unknown\}&\{password\}$/.exec(
        letter!.text,
      ) ?? [];
    expect(key).toMatch(uuid);
    expect((await activate(service, zoe, key)).status).toBe(200);
  });

  it.each([[{ a: 1 }], ['text'], [['x']], [null]])(
    'A context that is no object of texts, such as %j, is refused.',
    async (context) => {
      const { service } = await start();
      const { status, body } = await signUp(service, zoe, 'right', { 'email-context': context });
      expect([status, body]).toMatchObject([400, { details: [{ name: 'data.email-context' }] }]);
    },
  );

  it('the log contains no activation key.', async () => {
    const lines: unknown[] = [];
    const note = (...given: unknown[]): void => void lines.push(...given);
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const { service, sink } = await start({}, { logger });
    await signUp(service, zoe, 'right');
    const [letter] = await sink.received(1);
    const key = letter!.text;
    expect((await activate(service, 'ann@example.org', key)).status).toBe(403);
    expect((await activate(service, zoe, `${key}/`)).status).toBe(307);
    const requests = [{ method: 'POST', path: `/accounts/${zoe}/validate/${key}` }];
    expect((await service.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
    expect(await logIn(service, zoe, 'right')).toBe(200);
    const text = JSON.stringify(lines);
    expect(text).toContain(`/v1/accounts/${zoe}/validate/[removed]`);
    expect(text).not.toContain(key);
  });

  it('a sign-up that is rolled back sends nothing.', async () => {
    const failing = definePlugin({
      name: 'failing',
      setup: () => ({
        kinds: [{ name: 'trap', path: '/traps', flavour: 'user', afterChange: () => Promise.reject(new Error('no')) }],
      }),
    });
    const { service, sink } = await startWithAccount({}, { plugins: [failing] });
    const sign = {
      method: 'PUT',
      path: '/accounts/ann@example.org',
      body: { data: { password: 'x' } },
      headers: { Authorization: '' },
    };
    const requests = [sign, { method: 'POST', path: '/traps' }];
    const headers = { Authorization: basic(zoe, 'right') };
    expect((await service.request('POST', '/v1/batch', { headers, body: { requests } })).status).toBe(500);
    await signUp(service, 'bob@example.org', 'x');
    await sink.received(3);
    expect(sink.letters.map(({ to }) => to[0])).toEqual([zoe, zoe, 'bob@example.org']);
  });
});

describe('activation', () => {
  it('wrong, used and unknown keys are refused in the same way.', async () => {
    const { service, sink } = await start();
    await signUp(service, zoe, 'right');
    await signUp(service, 'ann@example.org', 'right');
    const [first, second] = await sink.received(2);
    const keys = new Map([first!, second!].map(({ to, text }) => [to[0], text]));
    const answers = [
      await activate(service, zoe, 'nonsense'),
      await activate(service, zoe, keys.get('ann@example.org')!),
      await activate(service, 'unknown@example.org', keys.get(zoe)!),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 403,
        body: { errno: 121, message: expect.stringContaining('do not match') },
      });
    }
    // The right key still works once.
    expect((await activate(service, zoe, keys.get(zoe)!)).status).toBe(200);
    expect((await activate(service, zoe, keys.get(zoe)!)).status).toBe(403);
  });

  it('one of two concurrent uses of a key succeeds.', async () => {
    const { service, sink } = await start();
    await signUp(service, zoe, 'right');
    const [letter] = await sink.received(1);
    const answers = await Promise.all([1, 2, 3, 4].map(() => activate(service, zoe, letter!.text)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403, 403, 403]);
  });

  it('a key expires, and is deleted with its account.', async () => {
    const clock = createTestClock();
    const { service, sink } = await start({ 'account_validation.validation_key_cache_ttl_seconds': '60' }, { clock });
    await signUp(service, zoe, 'right');
    const [letter] = await sink.received(1);
    clock.advance(61_000);
    expect((await activate(service, zoe, letter!.text)).status).toBe(403);
  });

  it('the endpoints do not exist if accounts are not validated.', async () => {
    const service = await startAccounts();
    expect((await activate(service, zoe, 'x')).status).toBe(404);
    expect((await requestReset(service, zoe)).status).toBe(404);
  });
});
