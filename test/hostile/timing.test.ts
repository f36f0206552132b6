// What the time of an answer tells to those who guess: nothing about which accounts there are, and nothing about how much of
// a secret was right. Both kinds of guess are timed in turns, in random order, and the samples compared.
//
// `COFFER_TIMING_SAMPLES=10000 npx vitest run --project code test/hostile/timing.test.ts` takes large samples and prints what
// it finds; what CI can see in small ones, on machines that do other things too, is a gross difference.
import { writeSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { RequestBody } from '../../src/engine/exchange.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { OneTimeCodes } from '../../src/plugins/accounts/one-time-codes.ts';
import type { TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { compareSamples } from '../support/mann-whitney.ts';

const asked = Number(process.env['COFFER_TIMING_SAMPLES'] ?? 0);

interface Size {
  readonly samples: number;
  /** Largest effect, as a distance from 0.5. Alike samples go beyond it once in many millions of runs. */
  readonly most: number;
}

const large: Size | undefined = asked > 0 ? { samples: asked, most: Math.max(0.02, 3 / Math.sqrt(asked)) } : undefined;
const quick = large ?? { samples: 150, most: 0.2 };
/** For logins, each of which takes a while. */
const slow = large ?? { samples: 40, most: 0.35 };

type Guess = (n: number) => Promise<unknown>;

/** Times both guesses in an order that chance decides, so that what one leaves behind burdens both alike. */
async function expectAlike(what: string, { samples, most }: Size, first: Guess, second: Guess): Promise<void> {
  const times: readonly [number[], number[]] = [[], []];
  const measure = async (which: 0 | 1, n: number): Promise<void> => {
    const startedAt = process.hrtime.bigint();
    await (which === 0 ? first : second)(n);
    times[which].push(Number(process.hrtime.bigint() - startedAt));
    // What the answer has left to do is done before the next one is timed.
    await new Promise(setImmediate);
  };
  for (let n = -5; n < 0; n++) for (const which of [0, 1] as const) await measure(which, n);
  for (const all of times) all.length = 0;
  // Were they to take turns, one would come after the other more often than after itself.
  const shuffled = Array.from({ length: 2 * samples }, (_, n) => ({ n, place: Math.random() }));
  shuffled.sort((a, b) => a.place - b.place);
  for (const { n } of shuffled) await measure(n < samples ? 0 : 1, n);
  const { effect, pValue } = compareSamples(...times);
  const [a, b] = times.map((all) => all.toSorted((x, y) => x - y)[all.length >> 1]! / 1000);
  if (asked > 0) {
    const medians = `${a!.toFixed(1)} and ${b!.toFixed(1)} µs`;
    writeSync(2, `${what}: effect ${effect.toFixed(4)}, p ${pValue.toPrecision(3)}, medians ${medians}\n`);
  }
  expect(Math.abs(effect - 0.5), what).toBeLessThan(most);
}

/** A door through which tests reach the security state. */
function codesDoor(): { plugin: ReturnType<typeof definePlugin>; codes: () => OneTimeCodes } {
  let codes: OneTimeCodes | undefined;
  const plugin = definePlugin({
    name: 'door',
    setup({ securityState }) {
      codes = new OneTimeCodes({ state: securityState, clock: systemClock }, 'secret', 'password-reset', 3600);
      return {};
    },
  });
  return { plugin, codes: () => codes! };
}

const settings = {
  includes: 'accounts',
  'multiauth.policies': 'account',
  account_create_principals: 'system.Everyone',
  // Faster than the default, but still most of the time. So other differences are easier to detect.
  account_hash_cost: '10',
  account_login_failures_per_account: '0',
  account_login_failures_per_address: '0',
};
const sqlite = allBackends.find(({ name }) => name === 'sqlite')!;

async function start(
  more: Readonly<Record<string, string>> = {},
  plugins: readonly ReturnType<typeof definePlugin>[] = [],
): Promise<TestService> {
  const service = await sqlite.start({ settings: { ...settings, ...more }, plugins });
  onTestFinished(() => service.close());
  return service;
}

const password = 'correct horse battery staple';

function send(
  service: TestService,
  method: string,
  target: string,
  authorization?: string,
): ReturnType<TestService['answer']> {
  return service.answer({
    method,
    target,
    headers: { host: 'localhost', ...(authorization === undefined ? {} : { authorization }) },
    body: RequestBody.none,
    origin: 'http://localhost',
    clientAddress: '192.0.2.1',
    id: 'timed',
  });
}

async function logIn(service: TestService, user: string, given: string): Promise<number> {
  const authorization = `Basic ${Buffer.from(`${user}:${given}`).toString('base64')}`;
  return (await send(service, 'GET', '/v1/buckets', authorization)).status;
}

async function signUp(service: TestService, id: string): Promise<void> {
  const { status, text } = await service.request('PUT', `/v1/accounts/${id}`, { body: { data: { password } } });
  expect(status, text).toBe(201);
}

/** A wrong password that was not tried before, because a repeated one is known. */
function wrong(which: string, n: number): string {
  return `${which}${n + 100}`.padEnd(password.length, 'x');
}

describe('the time of an answer', { timeout: 3_600_000 }, () => {
  it('does not reveal whether an account exists, in use or not.', async () => {
    const service = await start();
    for (const user of ['anna', 'berta']) await signUp(service, user);
    const guess =
      (user: string): Guess =>
      async (n) =>
        expect(await logIn(service, user, wrong(user, n))).toBe(401);
    await expectAlike('an account that is not in use and none', slow, guess('anna'), guess('nobody'));
    expect(await logIn(service, 'berta', password)).not.toBe(401);
    await expectAlike('an account that is in use and none', slow, guess('berta'), guess('nobody-2'));
  });

  it('does not reveal how much of a password was right.', async () => {
    const service = await start();
    await signUp(service, 'anna');
    const guess =
      (make: (n: number) => string): Guess =>
      async (n) =>
        expect(await logIn(service, 'anna', make(n))).toBe(401);
    const right = (n: number): string => `${password.slice(0, -5)}${n + 10_100}`;
    await expectAlike(
      'half a password and none of it',
      slow,
      guess(right),
      guess((n) => wrong('z', n)),
    );
    expect(await logIn(service, 'anna', password)).not.toBe(401);
    await expectAlike(
      'half a password and none of it, of a user who is logged in',
      slow,
      guess((n) => `${right(n)}!`),
      guess((n) => wrong('y', n)),
    );
  });

  it('does not reveal by password resets whether an account exists.', async () => {
    const service = await start({
      account_validation: 'true',
      'account_validation.email_sender': 'shop@example.org',
      'account_validation.reset_mails_per_hour': '1000000',
      'account_validation.reset_requests_per_address_per_hour': '1000000',
      'mail.mailer': 'testing',
    });
    await signUp(service, 'anna@example.org');
    const guess =
      (user: string): Guess =>
      async () =>
        expect((await send(service, 'POST', `/v1/accounts/${user}/reset-password`)).status).toBe(200);
    await expectAlike(
      'a password reset of an existing and of a missing account',
      quick,
      guess('anna@example.org'),
      guess('none@example.org'),
    );
  });

  it('does not reveal how much of a temporary password, or of a key sent by mail, was right.', async () => {
    const { plugin, codes } = codesDoor();
    await start({}, [plugin]);
    const right = await codes().issue('anna', undefined);
    const guess =
      (text: string): Guess =>
      async () =>
        expect(await codes().hold('anna', text)).toBeUndefined();
    const half = `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`;
    await expectAlike(
      'most of a temporary password and none of it',
      quick,
      guess(half),
      guess('x'.repeat(right.length)),
    );
  });

  it('does not reveal how much of the signature of a page was right.', async () => {
    const service = await start({ pagination_token_signed: 'true' });
    await signUp(service, 'anna');
    const authorization = `Basic ${Buffer.from(`anna:${password}`).toString('base64')}`;
    for (const id of ['a', 'b']) await send(service, 'PUT', `/v1/buckets/${id}`, authorization);
    const { headers } = await send(service, 'GET', '/v1/buckets?_limit=1', authorization);
    const token = new URL(String(headers['Next-Page'])).searchParams.get('_token')!;
    const [payload, signature = ''] = token.split('.');
    expect(signature).toHaveLength(43);
    const flip = (at: number): string => {
      const other = signature[at] === 'A' ? 'B' : 'A';
      return `/v1/buckets?_limit=1&_token=${payload}.${signature.slice(0, at)}${other}${signature.slice(at + 1)}`;
    };
    const guess =
      (target: string): Guess =>
      async () =>
        expect((await send(service, 'GET', target, authorization)).status).toBe(400);
    await expectAlike('most of a signature and none of it', quick, guess(flip(41)), guess(flip(0)));
  });

  it('would be noticed if it told something.', async () => {
    const work = async (rounds: number): Promise<void> => {
      for (let n = 0; n < rounds; n++) Math.sqrt(n);
    };
    const telling = expectAlike(
      'more work and less',
      { samples: 150, most: 0.2 },
      () => work(200_000),
      () => work(20_000),
    );
    await expect(telling).rejects.toThrow('more work and less');
  });
});

describe('the comparison of samples', () => {
  const values = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 30 });

  it('counts how often one is larger, and half of the ties.', () => {
    fc.assert(
      fc.property(values, values, (first, second) => {
        let wins = 0;
        for (const a of first) for (const b of second) wins += a > b ? 1 : a === b ? 0.5 : 0;
        const { effect, pValue } = compareSamples(first, second);
        expect(effect).toBeCloseTo(wins / (first.length * second.length), 10);
        expect(pValue).toBeGreaterThanOrEqual(0);
        expect(pValue).toBeLessThanOrEqual(1.000001);
      }),
    );
  });

  it('finds known probabilities.', () => {
    const range = (from: number, to: number): readonly number[] =>
      Array.from({ length: to - from }, (_, n) => from + n);
    expect(compareSamples(range(0, 20), range(0, 20)).pValue).toBeCloseTo(1, 6);
    // 17 of 20 pairs, which is 1.715 deviations from the middle.
    const { effect, pValue } = compareSamples([19, 22, 16, 29, 24], [20, 11, 17, 12]);
    expect(effect).toBe(0.85);
    expect(pValue).toBeCloseTo(0.0864, 4);
    expect(compareSamples(range(0, 50), range(100, 150))).toMatchObject({ effect: 0 });
    expect(compareSamples(range(0, 50), range(100, 150)).pValue).toBeLessThan(1e-12);
  });
});
