// One-time codes whose holder ends without giving them back, loses its commit, or takes too long: another request can use them
// later, and each is used once.
import { describe, expect, it, onTestFinished } from 'vitest';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import type { SecurityState } from '../../../src/contracts/security-state.ts';
import { HeldEntry } from '../../../src/engine/held-entry.ts';
import type { Stores } from '../../../src/engine/unit-of-work.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import { accountsSecret } from '../../../src/plugins/accounts/account-cache.ts';
import { OneTimeCodes, type CodePurpose } from '../../../src/plugins/accounts/one-time-codes.ts';
import { createTestClock, type TestClock, type TestResponse, type TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { startMailSink, type MailSink } from '../../support/mail-sink.ts';
import { activate, change, mailSettings, requestReset, zoe } from './mailed-accounts.ts';
import { logIn, signUp } from './service.ts';

/** Time after which the mark of a request lapses. */
const heldMs = 300_000;

interface Fixture {
  readonly service: TestService;
  readonly sink: MailSink;
  readonly clock: TestClock;
  readonly inside: Inside;
  /** Holds a code as a request of a process that ends before it gives the code back. */
  readonly holdForever: (purpose: CodePurpose, code: string) => Promise<void>;
}

/** Parts of the service that only a plugin reaches, and faults in them. */
class Inside {
  state!: SecurityState;
  stores!: Stores;
  secret = '';
  /** Called with each change of an account, before the commit. */
  beforeCommit: (() => Promise<void>) | undefined;
  /** Called after a request has tried to put a mark into the store. */
  afterReplace: ((isReplaced: boolean) => Promise<void> | void) | undefined;

  readonly plugin = definePlugin({
    name: 'inside',
    setup: ({ securityState, stores, settings }) => {
      Object.assign(this, { state: securityState, stores, secret: accountsSecret(settings) });
      const replace = securityState.replace.bind(securityState);
      securityState.replace = async (...given) => {
        const isReplaced = await replace(...given);
        await this.afterReplace?.(isReplaced);
        return isReplaced;
      };
      const handle = async (): Promise<void> => {
        const task = this.beforeCommit;
        this.beforeCommit = undefined;
        await task?.();
      };
      return { subscribers: [{ name: 'inside', on: 'ResourceChanged', handle }] };
    },
  });

  /** Lets the next commit fail, after it has committed or in place of it. */
  failCommit(error: BackendUnavailable, isCommitted: boolean): void {
    const { database } = this.stores.storage;
    const begin = database.begin;
    database.begin = async (...given) => {
      database.begin = begin;
      const transaction = await begin.apply(database, given);
      const commit = transaction.commit.bind(transaction);
      transaction.commit = async () => {
        await (isCommitted ? commit() : transaction.rollback());
        throw error;
      };
      return transaction;
    };
  }
}

forEachBackend((backend) => {
  async function start(): Promise<Fixture> {
    const sink = await startMailSink();
    const clock = createTestClock();
    const inside = new Inside();
    const settings = {
      ...mailSettings(sink),
      userid_hmac_secret: 'secret',
      bucket_create_principals: 'system.Everyone',
    };
    const service = await backend.start({ settings, clock, plugins: [inside.plugin] });
    onTestFinished(() => service.close());
    expect((await signUp(service, zoe, 'right')).status).toBe(201);
    const holdForever = async (purpose: CodePurpose, code: string): Promise<void> => {
      const codes = new OneTimeCodes({ state: inside.state, clock }, inside.secret, purpose, 3600);
      expect(await codes.hold(zoe, code)).toBeInstanceOf(HeldEntry);
    };
    return { service, sink, clock, inside, holdForever };
  }

  async function keyFrom({ sink }: Fixture): Promise<string> {
    return (await sink.received(1))[0]!.text;
  }

  async function passwordFrom(fixture: Fixture): Promise<string> {
    const { service, sink } = fixture;
    expect((await activate(service, zoe, await keyFrom(fixture))).status).toBe(200);
    await requestReset(service, zoe);
    const letters = await sink.received(3);
    return letters.find(({ subject }) => subject.startsWith('Reset'))!.text;
  }

  function setPassword({ service }: Fixture, login: string, password: string): Promise<TestResponse> {
    return change(service, zoe, login, { data: { password } });
  }

  describe(`a one-time code on ${backend.name}`, () => {
    it('is usable once more when the mark of a request that has ended lapses.', async () => {
      const fixture = await start();
      const { service, clock, holdForever } = fixture;
      const key = await keyFrom(fixture);
      await holdForever('account-activation', key);
      clock.advance(heldMs - 1);
      expect((await activate(service, zoe, key)).status).toBe(403);
      clock.advance(1);
      expect((await activate(service, zoe, 'wrong')).status).toBe(403);
      const temporary = await passwordFrom(fixture);
      expect((await activate(service, zoe, key)).status).toBe(403);

      await holdForever('password-reset', temporary);
      clock.advance(heldMs - 1);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(401);
      clock.advance(1);
      expect((await setPassword(fixture, `${temporary}x`, 'new')).status).toBe(401);
      // A refusal leaves it usable.
      expect((await setPassword(fixture, temporary, '')).status).toBe(400);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(200);
      expect((await setPassword(fixture, temporary, 'newer')).status).toBe(401);
      clock.advance(heldMs);
      expect((await setPassword(fixture, temporary, 'newer')).status).toBe(401);
      expect(await logIn(service, zoe, 'new')).toBe(200);
    });

    it('is used by one request when its first holder commits after the mark has lapsed.', async () => {
      const fixture = await start();
      const { clock, inside, service } = fixture;
      const temporary = await passwordFrom(fixture);
      let second: Promise<TestResponse> | undefined;
      inside.beforeCommit = () =>
        new Promise((resume) => {
          clock.advance(heldMs);
          // The first attempt finds the mark, the second one replaces it.
          inside.afterReplace = (isReplaced) => {
            if (!isReplaced) return;
            inside.afterReplace = undefined;
            resume();
          };
          second = setPassword(fixture, temporary, 'second');
        });
      expect((await setPassword(fixture, temporary, 'first')).status).toBe(200);
      expect((await second)?.status).toBe(401);
      clock.advance(heldMs);
      expect((await setPassword(fixture, temporary, 'third')).status).toBe(401);
      expect(await logIn(service, zoe, 'first')).toBe(200);
    });

    it('is used by the second request when that one ends before its first holder begins to write.', async () => {
      const fixture = await start();
      const { clock, inside, service } = fixture;
      const temporary = await passwordFrom(fixture);
      inside.afterReplace = async () => {
        inside.afterReplace = undefined;
        clock.advance(heldMs);
        expect((await setPassword(fixture, temporary, 'second')).status).toBe(200);
      };
      expect((await setPassword(fixture, temporary, 'first')).status).toBe(401);
      expect(await logIn(service, zoe, 'second')).toBe(200);
    });

    it('is not usable again when its holder has committed without knowing it.', async () => {
      const fixture = await start();
      const { clock, inside, service } = fixture;
      const temporary = await passwordFrom(fixture);
      inside.failCommit(new BackendUnavailable('storage', 'the answer to the commit is lost'), true);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(503);
      expect((await setPassword(fixture, temporary, 'newer')).status).toBe(401);
      // The refused request gives back what it has found.
      for (let n = 0; n < 2; n++) {
        clock.advance(heldMs);
        expect((await setPassword(fixture, temporary, 'newer')).status).toBe(401);
      }
      expect(await logIn(service, zoe, 'new')).toBe(200);
    });

    it('is usable when its holder does not know that it was undone, once the mark lapses.', async () => {
      const fixture = await start();
      const { clock, inside } = fixture;
      const temporary = await passwordFrom(fixture);
      inside.failCommit(new BackendUnavailable('storage', 'the commit is lost'), false);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(503);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(401);
      clock.advance(heldMs);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(200);
    });

    it('is usable at once when a refused commit is certainly undone.', async () => {
      const fixture = await start();
      const { inside, service } = fixture;
      const undone = new BackendUnavailable('storage', 'the disk is full', { isUndone: true });
      const key = await keyFrom(fixture);
      inside.failCommit(undone, false);
      expect((await activate(service, zoe, key)).status).toBe(503);
      const temporary = await passwordFrom(fixture);
      inside.failCommit(undone, false);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(503);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(200);
    });

    it('is revoked by a change of the password and by the deletion of the account, also when its mark has lapsed.', async () => {
      const fixture = await start();
      const { clock, holdForever, service } = fixture;
      const temporary = await passwordFrom(fixture);
      await holdForever('password-reset', temporary);
      expect((await setPassword(fixture, 'right', 'mine')).status).toBe(200);
      clock.advance(heldMs);
      expect((await setPassword(fixture, temporary, 'stolen')).status).toBe(401);
      expect((await change(service, zoe, 'mine', undefined, 'DELETE')).status).toBe(200);
      await signUp(service, zoe, 'again');
      const key = (await fixture.sink.received(4))[3]!.text;
      await holdForever('account-activation', key);
      const root = { Authorization: `Basic ${Buffer.from('root@example.org:root').toString('base64')}` };
      await signUp(service, 'root@example.org', 'root');
      const rootKey = (await fixture.sink.received(5))[4]!.text;
      expect((await activate(service, 'root@example.org', rootKey)).status).toBe(200);
      expect((await service.request('DELETE', `/v1/accounts/${zoe}`, { headers: root })).status).toBe(200);
      await signUp(service, zoe, 'next');
      clock.advance(heldMs);
      expect((await activate(service, zoe, key)).status).toBe(403);
    });

    it('stays held under a mark of an older version, which has no time, and is revoked with it.', async () => {
      const fixture = await start();
      const { clock, inside } = fixture;
      const temporary = await passwordFrom(fixture);
      let entry: Parameters<SecurityState['replace']> | undefined;
      const { replace } = inside.state;
      inside.state.replace = (...given) => {
        entry ??= given;
        return replace(...given);
      };
      expect((await setPassword(fixture, temporary, '')).status).toBe(400);
      const [key, value] = entry!;
      expect(await inside.state.replace(key, value, 'held 6f2d1e0a-0000-4000-8000-000000000000')).toBe(true);
      clock.advance(heldMs);
      expect((await setPassword(fixture, temporary, 'new')).status).toBe(401);
      expect((await setPassword(fixture, 'right', 'mine')).status).toBe(200);
      expect(await inside.state.get(key)).toBeUndefined();
    });
  });

  describe(`the token of a deletion on ${backend.name}`, () => {
    const records = '/v1/buckets/b/collections/c/records';

    async function firstPage(fixture: Fixture): Promise<string> {
      const { service } = fixture;
      const body = { permissions: { write: ['system.Everyone'] } };
      expect((await service.request('PUT', '/v1/buckets/b', { body })).status).toBe(201);
      expect((await service.request('PUT', '/v1/buckets/b/collections/c')).status).toBe(201);
      for (const id of 'abcd') await service.request('PUT', `${records}/${id}`);
      const { status, headers } = await service.request('DELETE', `${records}?_limit=2`);
      expect(status).toBe(200);
      const { pathname, search } = new URL(headers['next-page']!, 'http://localhost');
      return pathname + search;
    }

    const idsOf = async ({ service }: Fixture): Promise<readonly string[]> =>
      ((await service.request('GET', records)).body as { data: { id: string }[] }).data.map(({ id }) => id).toSorted();

    it.each([
      { outcome: 'undone', isCommitted: false, status: 200, left: [] },
      // Nothing that was written since is deleted.
      { outcome: 'committed', isCommitted: true, status: 400, left: ['e'] },
    ])('after a commit that was $outcome without an answer', async ({ isCommitted, status, left }) => {
      const fixture = await start();
      const { service, clock, inside } = fixture;
      const next = await firstPage(fixture);
      inside.failCommit(new BackendUnavailable('storage', 'the answer to the commit is lost'), isCommitted);
      expect((await service.request('DELETE', next)).status).toBe(503);
      if (isCommitted) expect((await service.request('PUT', `${records}/e`)).status).toBe(201);
      expect((await service.request('DELETE', next)).status).toBe(400);
      clock.advance(heldMs);
      expect((await service.request('DELETE', next)).status).toBe(status);
      expect((await service.request('DELETE', next)).status).toBe(400);
      expect(await idsOf(fixture)).toEqual(left);
    });
  });
});
