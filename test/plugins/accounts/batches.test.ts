// Batches that set passwords: hashing is slow, so it holds no locks.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../../src/backends/memory/permission.ts';
import { createMemorySecurityState } from '../../../src/backends/memory/security-state.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import { DatabaseUnit } from '../../../src/engine/database-unit.ts';
import { internalRequest } from '../../../src/engine/exchange.ts';
import { settleWith } from '../../../src/engine/held-entry.ts';
import type { PendingWrite } from '../../../src/engine/kind.ts';
import type { UnitOfWork } from '../../../src/engine/unit-of-work.ts';
import { WorkAhead, WorkAwaited } from '../../../src/engine/work-ahead.ts';
import { PreparedHashes } from '../../../src/plugins/accounts/passwords.ts';
import { OneTimeCodes } from '../../../src/plugins/accounts/one-time-codes.ts';
import type { TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { accountSettings, basic, logIn, signUp } from './service.ts';

const database = createMemoryDatabase({ clock: systemClock });
const stores = { storage: createMemoryStorage(database), permission: createMemoryPermission(database) };
const owner = basic('owner', 'of the bucket');
const mallory = basic('mallory', 'first');
const records = '/buckets/b/collections/c/records';

async function send(service: TestService, method: string, path: string, authorization: string, body: unknown = {}) {
  return service.request(method, `/v1${path}`, { headers: { Authorization: authorization }, body });
}

forEachBackend((backend) => {
  describe(`a batch that sets passwords on ${backend.name}`, () => {
    it('does all its writes, of which the last counts', async () => {
      const service = await backend.start({ settings: accountSettings });
      try {
        await signUp(service, 'owner', 'of the bucket');
        await signUp(service, 'mallory', 'first');
        await send(service, 'PUT', '/buckets/b', owner, { permissions: { write: ['account:mallory'] } });
        await send(service, 'PUT', '/buckets/b/collections/c', owner);
        const passwords = Array.from({ length: 6 }, (_, n) => `password ${n}`);
        const requests = [
          { method: 'PUT', path: `${records}/x`, body: { data: { by: 'mallory' } } },
          ...passwords.map((password) => ({
            method: 'PATCH',
            path: '/accounts/mallory',
            body: { data: { password } },
          })),
          { method: 'PUT', path: `${records}/x`, body: { data: { by: 'mallory again' } } },
        ];
        const { status, body } = await send(service, 'POST', '/batch', mallory, { requests });
        expect(status).toBe(200);
        const { responses } = body as { readonly responses: readonly { readonly status: number }[] };
        expect(responses.map((each) => each.status)).toEqual([201, ...passwords.map(() => 200), 200]);
        expect(await logIn(service, 'mallory', 'first')).toBe(401);
        expect(await logIn(service, 'mallory', passwords.at(-1)!)).toBe(200);
      } finally {
        await service.close();
      }
    });

    it('stores another hash for each account, also of equal passwords', async () => {
      const service = await backend.start({ settings: accountSettings });
      try {
        const names = ['ann', 'ben', 'cid'];
        const requests = names.map((name) => ({
          method: 'PUT',
          path: `/accounts/${name}`,
          body: { data: { password: 'equal' } },
        }));
        expect((await service.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
        const hashes = await Promise.all(
          names.map(async (name) => {
            const { body } = await send(service, 'GET', `/accounts/${name}`, basic(name, 'equal'));
            return (body as { readonly data: { readonly password: string } }).data.password;
          }),
        );
        expect(hashes).toEqual(names.map(() => expect.stringMatching(/^\$scrypt\$/)));
        expect(new Set(hashes).size).toBe(3);
      } finally {
        await service.close();
      }
    });
  });
});

describe('a new password', () => {
  const write = (unit: UnitOfWork) => ({ unit, request: internalRequest('test') }) as PendingWrite;
  let hashed = 0;
  const hashes = new PreparedHashes({
    hash: async (password) => `${password} ${++hashed}`,
    matches: async () => false,
  });

  it.each(['prepare', 'take'] as const)('is not hashed by %s while locks are held', async (call) => {
    hashed = 0;
    const ahead = new WorkAhead();
    const first = new DatabaseUnit(stores, silentLogger, { attempts: { ahead } });
    await first.writer();
    const awaited: unknown = await hashes[call](write(first), 'new').catch((error: unknown) => error);
    await first.abandon();
    expect(hashed).toBe(0);
    expect(awaited).toBeInstanceOf(WorkAwaited);
    await (awaited as WorkAwaited).work();
    ahead.restart();
    expect(hashed).toBe(1);
    const second = new DatabaseUnit(stores, silentLogger, { attempts: { ahead } });
    await second.writer();
    await hashes[call](write(second), 'new');
    if (call === 'prepare') expect(await hashes.take(write(second), 'new')).toBe('new 1');
    await second.abandon();
    expect(hashed).toBe(1);
  });
});

describe('activation keys of an account that several requests create', () => {
  const openUnit = (): DatabaseUnit => new DatabaseUnit(stores, silentLogger);
  const openCodes = (): OneTimeCodes =>
    new OneTimeCodes(
      {
        state: createMemorySecurityState({ clock: systemClock, maxEntries: 10, maxEntriesPerRequester: 10 }),
        clock: systemClock,
      },
      'secret',
      'account-activation',
      60,
    );

  it.each([
    ['first', 'before'],
    ['first', 'after'],
    ['second', 'before'],
    ['second', 'after'],
  ])('are those of the %s, which commits %s the other is undone', async (which, when) => {
    const codes = openCodes();
    const units = [openUnit(), openUnit()];
    const issued = [];
    for (const unit of units) issued.push(await codes.issueWith(unit, 'zoe', undefined));
    const [kept, undone] = which === 'first' ? [0, 1] : [1, 0];
    if (when === 'after') await units[undone]!.abandon();
    await units[kept]!.end(true);
    if (when === 'before') await units[undone]!.abandon();
    expect(await codes.hold('zoe', issued[undone]!)).toBeUndefined();
    expect(await codes.hold('zoe', issued[kept]!)).toBeDefined();
  });

  it('are valid when it is unknown whether the commit took place, and not when it did not', async () => {
    const codes = openCodes();
    const [unknown, undone] = [openUnit(), openUnit()];
    const key = await codes.issueWith(unknown, 'zoe', undefined);
    await unknown.abandon('unknown');
    expect(await codes.hold('zoe', key)).toBeDefined();
    const other = await codes.issueWith(undone, 'zoe', undefined);
    await undone.abandon();
    expect(await codes.hold('zoe', other)).toBeUndefined();
  });

  it('are usable again after a request that held them, unless it is unknown whether it was committed', async () => {
    const codes = openCodes();
    const key = await codes.issue('zoe', undefined);
    for (const fate of ['undone', 'unknown'] as const) {
      const unit = openUnit();
      settleWith(unit, (await codes.hold('zoe', key))!);
      expect(await codes.hold('zoe', key)).toBeUndefined();
      await unit.abandon(fate);
    }
    expect(await codes.hold('zoe', key)).toBeUndefined();
  });
});
