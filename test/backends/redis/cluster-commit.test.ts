// A commit on a cluster that fails in one slot: the failure is reported when no write of the unit is under way any more.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RedisClient } from '../../../src/backends/redis/client.ts';
import { ClusterCommit } from '../../../src/backends/redis/cluster-commit.ts';
import { ListOverlay } from '../../../src/backends/redis/list-overlay.ts';
import { Keys } from '../../../src/backends/redis/keys.ts';
import { PermissionLog } from '../../../src/backends/redis/permission-log.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import type { Outcome } from '../../../src/backends/redis/program.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';

it('a commit that fails in one slot waits for the other slots before it fails', async () => {
  const keys = new Keys('test:');
  // Never connected: a unit that only removes looks nothing up.
  const client = new RedisClient({ address: findRedisAddress('redis+cluster://127.0.0.1:1')! });
  const failure = new BackendUnavailable('storage', 'the node is gone');
  const events: string[] = [];
  let finish: (outcome: Outcome) => void = () => {};
  const elsewhere = new Promise<Outcome>((resolve) => {
    finish = resolve;
  });
  const commit = new ClusterCommit(client, keys, async ({ keys: [key] }) => {
    if (key === keys.entries('/a')) throw failure;
    return elsewhere;
  });
  const permissions = new PermissionLog();
  for (const objectId of ['/a/x/b', '/c/x/d'])
    permissions.entries.push({ kind: 'clear', objectId: storedUri(objectId) });
  const running = commit
    .run({ overlays: [], required: [], cascades: [], isFlushed: false, permissions }, 'v')
    .catch((error: unknown) => events.push(error === failure ? 'failed' : String(error)));
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  events.push('the other slot is written');
  finish('done');
  await running;
  expect(events).toEqual(['the other slot is written', 'failed']);
});

it('a commit names the lists that it has only read, whose leases nothing else would release', async () => {
  const keys = new Keys('test:');
  const client = new RedisClient({ address: findRedisAddress('redis+cluster://127.0.0.1:1')! });
  const commit = new ClusterCommit(client, keys, () => Promise.resolve('done'));
  const head = { version: 'v0', live: 0, dead: 0, horizon: 0, clock: 1, entries: [] };
  const overlayOf = (parent: string, isLeased = false): ListOverlay =>
    new ListOverlay({ kind: 'record', parent: storedParent(parent) }, head, isLeased);
  const [first, second, read] = [overlayOf('/a'), overlayOf('/b'), overlayOf('/c')];
  const leased = overlayOf('/d', true);
  const run = (...overlays: readonly ListOverlay[]): Promise<readonly ListOverlay[]> => {
    const permissions = new PermissionLog();
    return commit.run({ overlays, required: [], cascades: [], isFlushed: false, permissions }, 'v1');
  };
  for (const overlay of [first, second]) overlay.change({ clock: 2 });
  // With writes in one slot, the commit takes no leases.
  expect(await run(first, read)).toEqual([]);
  expect(await run(first, read, leased)).toEqual([leased]);
  expect(await run(first, second, read, leased)).toEqual([read, leased]);
});
