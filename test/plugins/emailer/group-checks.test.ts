// The read permission on the groups that hooks name is checked with few queries, however many groups there are.
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { AuthorizationPolicy } from '../../../src/engine/access.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import type { TestClient } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { startMailSink } from '../../support/mail-sink.ts';
import { mailSettings } from './service.ts';

let permissionReads: string[] = [];
beforeEach(() => void (permissionReads = []));

const counting = definePlugin({
  name: 'counting',
  observes: true,
  setup: () => ({
    observer: {
      observe(observation) {
        if (observation.kind !== 'operation' || observation.backend !== 'permission') return;
        if (/check|accessible/.test(observation.method)) permissionReads.push(observation.method);
      },
    },
  }),
});

const groupUris = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `/buckets/food/groups/g${from + n}`);

/** Saves collections with hooks, each with groups of its own, in one batch. Returns the statuses of the entries. */
async function saveCollections(
  client: TestClient,
  count: number,
  groups: (collection: number) => string[],
): Promise<readonly number[]> {
  const requests = Array.from({ length: count }, (_, n) => {
    const hook = { template: 'x', action: 'delete', recipients: groups(n) };
    return {
      method: 'PUT',
      path: `/buckets/food/collections/c${n}`,
      body: { data: { 'kinto-emailer': { hooks: [hook] } } },
    };
  });
  const { status, body } = await client.request('POST', '/v1/batch', { body: { requests } });
  if (status !== 200) return [status];
  return (body as { responses: { status: number }[] }).responses.map((response) => response.status);
}

forEachBackend((backend) => {
  const open = async (authorization?: AuthorizationPolicy): Promise<{ owner: TestClient; guest: TestClient }> => {
    const service = await backend.start({
      settings: { ...mailSettings(await startMailSink()), slow_operation_ms: '0' },
      plugins: [counting],
      ...(authorization === undefined ? {} : { authorization }),
    });
    onTestFinished(() => service.close());
    const [owner, guest] = [service.asUser('owner'), service.asUser('guest')];
    const permissions = { 'collection:create': ['system.Authenticated'], 'group:create': ['system.Authenticated'] };
    expect((await owner.request('PUT', '/v1/buckets/food', { body: { permissions } })).status).toBe(201);
    return { owner, guest };
  };

  it(`a batch makes as many queries for a hundred groups in each hook as for one on ${backend.name}.`, async () => {
    const { owner } = await open();
    const created = Array.from({ length: 10 }, () => 201);
    expect(await saveCollections(owner, 10, (n) => groupUris(n, 1))).toEqual(created);
    const reads = permissionReads.length;
    await owner.request('DELETE', '/v1/buckets/food/collections');
    permissionReads = [];
    expect(await saveCollections(owner, 10, (n) => groupUris(100 * n, 100))).toEqual(created);
    expect(permissionReads.length).toBeLessThanOrEqual(reads + 1);
  });

  it(`groups that are shared with the caller one by one are readable, and only these, on ${backend.name}.`, async () => {
    const { owner, guest } = await open();
    const createGroup = async (client: TestClient, uri: string, read: readonly string[] = []): Promise<void> => {
      expect((await client.request('PUT', `/v1${uri}`, { body: { permissions: { read } } })).status).toBe(201);
    };
    for (const uri of groupUris(0, 3)) await createGroup(guest, uri);
    await createGroup(owner, '/buckets/food/groups/open', ['system.Authenticated']);
    await createGroup(owner, '/buckets/food/groups/secret');
    const readable = [...groupUris(0, 3), '/buckets/food/groups/open'];
    expect(await saveCollections(guest, 2, () => readable)).toEqual([201, 201]);
    expect(await saveCollections(guest, 2, () => [...readable, '/buckets/food/groups/secret'])).toEqual([400]);
    expect(await saveCollections(guest, 2, () => [...readable, '/buckets/food/groups/gone'])).toEqual([400]);
    expect(await saveCollections(guest, 2, () => [...readable, '/buckets/food/groups/no!id'])).toEqual([400]);
  });

  it(`an authorization policy decides about each group on ${backend.name}.`, async () => {
    const { owner, guest } = await open({
      decide: ({ kind, permission, on, ids, byDefault }) => {
        if (kind !== 'group' || permission !== 'read' || on !== 'object') return byDefault();
        if (ids['group_id'] === 'g1') return false;
        return ids['group_id'] === 'public' ? true : byDefault();
      },
    });
    expect(await saveCollections(owner, 1, () => groupUris(2, 2))).toEqual([201]);
    expect(await saveCollections(owner, 1, () => groupUris(0, 2))).toEqual([400]);
    await guest.request('PUT', '/v1/buckets/food/groups/own');
    const both = ['/buckets/food/groups/own', '/buckets/food/groups/public'];
    await owner.request('DELETE', '/v1/buckets/food/collections');
    expect(await saveCollections(guest, 1, () => both)).toEqual([201]);
  });
});
