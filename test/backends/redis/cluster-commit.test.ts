// A commit on a cluster that fails in one slot: the failure is reported when no write of the unit is under way any more.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ClusterCommit } from '../../../src/backends/redis/cluster-commit.ts';
import { ListOverlay } from '../../../src/backends/redis/list-overlay.ts';
import { Keys } from '../../../src/backends/redis/keys.ts';
import { PermissionLog } from '../../../src/backends/redis/permission-log.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import type { Outcome } from '../../../src/backends/redis/program.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';

it('a commit that fails in one slot waits for the other slots before it fails', async () => {
  const keys = new Keys('test:');
  const failure = new BackendUnavailable('storage', 'the node is gone');
  const events: string[] = [];
  let finish: (outcome: Outcome) => void = () => {};
  const elsewhere = new Promise<Outcome>((resolve) => {
    finish = resolve;
  });
  const commit = new ClusterCommit(silentClient().client, keys, async ({ keys: [key] }) => {
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

/** Stands for a cluster: notes the commands outside of scripts, and finds nothing. */
function silentClient(): { readonly sent: string[]; readonly client: ConstructorParameters<typeof ClusterCommit>[0] } {
  const sent: string[] = [];
  const call = async (_: string, command: string, ...args: readonly (string | number)[]): Promise<number> =>
    sent.push([command, ...args].join(' '));
  return { sent, client: { call, read: async () => [], lostNodes: 0 } };
}

const head = { version: 'v0', live: 0, dead: 0, horizon: 0, clock: 1, entries: [] };

it('a commit writes parents before their children, and the clock that lists share after these lists', async () => {
  const keys = new Keys('test:');
  const written: string[] = [];
  const { client } = silentClient();
  const commit = new ClusterCommit(client, keys, async ({ operations }) => {
    if (operations.includes('list')) written.push(operations[operations.indexOf('list') + 1]!);
    return 'done';
  });
  const parents = ['shared', '/buckets/a/collections/c', '', '/buckets/a'].map(storedParent);
  const overlays = parents.map((parent) => new ListOverlay({ kind: 'record', parent }, head));
  for (const overlay of overlays) overlay.change({ clock: 2 });
  const rest = { overlays, required: [], isFlushed: false, permissions: new PermissionLog() };
  const metaOf = (parent: string): string => keys.meta({ kind: 'record', parent: storedParent(parent) });
  await commit.run({ ...rest, cascades: [] }, 'v1');
  expect(written).toEqual(['', '/buckets/a', '/buckets/a/collections/c', 'shared'].map(metaOf));
  written.length = 0;
  await commit.run({ ...rest, cascades: [storedUri('/buckets/a')] }, 'v2');
  expect(written).toEqual(['/buckets/a/collections/c', '/buckets/a', '', 'shared'].map(metaOf));
});

it('a commit changes the members of a group together with the group, and announces them before', async () => {
  const keys = new Keys('test:');
  const group = toPrincipal('/buckets/a/groups/g');
  const { client, sent } = silentClient();
  const programs: (readonly string[])[] = [];
  const commit = new ClusterCommit(client, keys, async ({ operations }) => {
    expect(sent).toContain(`SADD ${keys.memberships(toPrincipal('zoe'))} ${group}`);
    programs.push(operations);
    return 'done';
  });
  const overlay = new ListOverlay({ kind: 'group', parent: storedParent('/buckets/a') }, head);
  overlay.change({ clock: 2 });
  const permissions = new PermissionLog();
  permissions.memberships.push(
    { kind: 'admit', userId: toPrincipal('zoe'), principal: group },
    { kind: 'expel', userId: toPrincipal('tom'), principal: group },
  );
  await commit.run({ overlays: [overlay], required: [], cascades: [], isFlushed: false, permissions }, 'v1');
  expect(programs).toHaveLength(1);
  for (const operation of ['version', 'list', 'admit', 'expel']) expect(programs[0]).toContain(operation);
});

it('a commit announces a list again when a node was lost, which may not have replicated it', async () => {
  const keys = new Keys('test:');
  const { client, sent } = silentClient();
  const state = { lostNodes: 0 };
  const watched = {
    ...client,
    get lostNodes(): number {
      return state.lostNodes;
    },
  };
  const commit = new ClusterCommit(watched, keys, async () => 'done');
  const write = async (): Promise<number> => {
    const overlay = new ListOverlay({ kind: 'record', parent: storedParent('/buckets/a/collections/c') }, head);
    overlay.change({ clock: 2 });
    const before = sent.length;
    await commit.run(
      { overlays: [overlay], required: [], cascades: [], isFlushed: false, permissions: new PermissionLog() },
      'v',
    );
    return sent.length - before;
  };
  const counts = [await write(), await write()];
  state.lostNodes++;
  expect([...counts, await write(), await write()]).toEqual([2, 0, 2, 0]);
});

it('a commit names the lists that it has only read, whose leases nothing else would release', async () => {
  const keys = new Keys('test:');
  const commit = new ClusterCommit(silentClient().client, keys, () => Promise.resolve('done'));
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
