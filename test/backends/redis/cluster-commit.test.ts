// A commit on a cluster that fails in one slot: the failure is reported when no write of the unit is under way any more.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ClusterCommit } from '../../../src/backends/redis/cluster-commit.ts';
import { planWrites } from '../../../src/backends/redis/cluster-plan.ts';
import { ListOverlay } from '../../../src/backends/redis/list-overlay.ts';
import { Keys } from '../../../src/backends/redis/keys.ts';
import { PermissionLog } from '../../../src/backends/redis/permission-log.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import type { Outcome } from '../../../src/backends/redis/program.ts';
import type { UnitContents } from '../../../src/backends/redis/unit.ts';
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

describe('a commit in several slots', () => {
  const keys = new Keys('test:');
  const metaOf = (parent: string): string => keys.meta({ kind: 'record', parent: storedParent(parent) });
  const overlayOf = (parent: string): ListOverlay =>
    new ListOverlay({ kind: 'record', parent: storedParent(parent) }, head);

  /** Returns the lists that a commit writes, in their order, and the versions that it requires and sets. */
  async function written(contents: Partial<UnitContents>): Promise<readonly (readonly string[])[]> {
    const found: (readonly string[])[] = [];
    const commit = new ClusterCommit(silentClient().client, keys, async ({ operations }, version) => {
      const at = operations.indexOf('list');
      if (at !== -1) found.push([operations[at + 1]!, operations[operations.indexOf('version') + 3]!, version]);
      return 'done';
    });
    const none = { required: [], cascades: [], isFlushed: false, permissions: new PermissionLog() };
    await commit.run({ overlays: [], ...none, ...contents }, 'v1');
    return found;
  }

  it('writes parents before their children, and the clock that lists share after these lists', async () => {
    const overlays = ['shared', '/buckets/a/collections/c', '', '/buckets/a'].map(overlayOf);
    for (const overlay of overlays) overlay.change({ clock: 2 });
    expect(await written({ overlays })).toEqual(
      ['', '/buckets/a', '/buckets/a/collections/c', 'shared'].map((parent) => [metaOf(parent), 'v0', 'v1']),
    );
  });

  it('removes what is below deleted objects first, and then writes from the top', async () => {
    const [root, deleted, fresh] = ['', '/buckets/old/collections/c', '/buckets/new'].map(overlayOf);
    for (const overlay of [root!, fresh!]) overlay.change({ clock: 2 });
    deleted!.empty(5);
    const cascades = [storedUri('/buckets/old')];
    expect(await written({ overlays: [deleted!, fresh!, root!], cascades })).toEqual([
      [metaOf('/buckets/old/collections/c'), 'v0', 'v1-'],
      [metaOf(''), 'v0', 'v1'],
      [metaOf('/buckets/new'), 'v0', 'v1'],
      [metaOf('/buckets/old/collections/c'), 'v1-', 'v1'],
    ]);
  });
});

it('a removal of everything below an object leaves nothing of earlier changes there', async () => {
  const keys = new Keys('test:');
  const permissions = new PermissionLog();
  const group = storedUri('/buckets/a/groups/g');
  const zoe = toPrincipal('zoe');
  const grant = { kind: 'replace', objectId: group, permissions: { read: [zoe] } } as const;
  const admit = { kind: 'admit', userId: zoe, principal: toPrincipal(group) } as const;
  permissions.entries.push(grant, { kind: 'clearBelow', uri: storedUri('/buckets/a') });
  permissions.memberships.push(admit, { kind: 'expelBelow', prefix: '/buckets/a/' });
  const contents = { overlays: [], required: [], cascades: [], isFlushed: false, permissions };
  expect((await planWrites(silentClient().client, keys, contents)).writes.parents).toEqual([]);
  // Later changes stay.
  permissions.entries.push(grant);
  permissions.memberships.push(admit);
  const { operations } = (await planWrites(silentClient().client, keys, contents)).writes.of('/buckets/a');
  expect(operations.filter((each) => each === 'replace' || each === 'admit')).toEqual(['replace', 'admit']);
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
