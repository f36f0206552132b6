// `/permissions` for users with permissions on very many objects. The list is built in memory, so it has to reserve some.
import { describe, expect, it, onTestFinished } from 'vitest';
import { storedUri } from '../../src/core/objects/uris.ts';
import { toPrincipal } from '../../src/core/permissions/principals.ts';
import type { Stores } from '../../src/engine/unit-of-work.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestBackend, TestService } from '../../src/testing/index.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';
import { allBackends } from '../support/backends.ts';

const count = 3000;
const megabyte = 1_000_000;

/** Starts a service on which every user has permissions on all records of a collection. */
async function startShared(start: TestBackend['start'], budgetBytes: number): Promise<TestService> {
  let stores: Stores | undefined;
  const plugin = definePlugin({
    name: 'stores',
    setup(host) {
      stores = host.stores;
      return {};
    },
  });
  const settings = { experimental_permissions_endpoint: 'true', memory_budget_bytes: String(budgetBytes) };
  const service = await start({ plugins: [plugin], settings });
  onTestFinished(() => service.close());
  const permissions = { read: [toPrincipal('system.Authenticated')] };
  const records = Array.from({ length: count }, (_, n) => {
    return { objectId: storedUri(`/buckets/b/collections/c/records/r${n}`), permissions };
  });
  const { permission } = stores!;
  await inUnit(permission.database, (transaction) => permission.writer(transaction).addToAces(records));
  return service;
}

describe.each(allBackends)('the permissions of a user on very many objects, on $name', ({ start }) => {
  it('are returned to users who read at the same time and wait for memory', async () => {
    // For one user at a time.
    const service = await startShared(start, 5 * megabyte);
    const users = ['ann', 'bob', 'eve', 'kim'];
    const responses = await Promise.all(users.map((auth) => service.request('GET', '/v1/permissions', { auth })));
    for (const { status, body } of responses) {
      expect(status).toBe(200);
      expect((body as { data: unknown[] }).data.length).toBeGreaterThanOrEqual(count);
    }
  });

  it('are refused with 413 and the name of the limit when the memory budget can never hold them', async () => {
    const service = await startShared(start, megabyte);
    const refused = await service.request('GET', '/v1/permissions?_limit=1', { auth: 'bob' });
    expect(refused).toMatchObject({ status: 413, body: { errno: 113 } });
    expect(refused.text).toContain('memory_budget_bytes');
    // The records count only if they are wanted.
    await service.request('PUT', '/v1/buckets/own', { auth: 'bob' });
    for (const filter of [
      'exclude_resource_name=record',
      'in_resource_name=bucket,group',
      'not_resource_name=record',
    ]) {
      const { status, body } = await service.request('GET', `/v1/permissions?${filter}`, { auth: 'bob' });
      expect([status, (body as { data?: { uri: string }[] }).data?.map(({ uri }) => uri)]).toEqual([
        200,
        filter.startsWith('in') ? ['/buckets/own'] : ['/buckets/own', '/'],
      ]);
    }
    const few = await service.request('GET', '/v1/', { auth: 'bob' });
    expect(few.status).toBe(200);
  });
});
