// A cluster that changes under load: slots move, replicas take over, nodes restart. Each response is correct or a failure,
// and no object or permission entry is lost.
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { requireOneSlot } from '../../../src/backends/redis/client.ts';
import { openRedisDatabase } from '../../../src/backends/redis/database.ts';
import { Keys } from '../../../src/backends/redis/keys.ts';
import { createRedisPermission } from '../../../src/backends/redis/permission.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import { BackendUnavailable, TransactionConflict } from '../../../src/contracts/errors.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import type { TransactionContext } from '../../../src/testing/contract/contract-case.ts';
import { RedisCluster } from '../../support/redis-cluster.ts';
import { openInspector } from '../../support/redis.ts';
import type {
  ObjectPermissions,
  PermissionWriter,
  StorageWriter,
} from '../../../src/testing/contract/plain-contracts.ts';

type Backends = Omit<TransactionContext, 'clock'>;

const prefix = 'test:';
const keys = new Keys(prefix);
const parents = ['/buckets/a', '/buckets/b', '/buckets/a/collections/c'];
const principals = ['ann', 'tom', '/buckets/a/groups/g', 'system.Everyone'];
const users = ['ann', 'zoe'];

let cluster: RedisCluster;
let outside: Redis;
let memory: Backends;
let redis: Backends;

beforeAll(async () => {
  // With `everysec` a server on a busy disk responds before it writes its log, and nodes are killed here.
  cluster = await RedisCluster.start({ options: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  outside = openInspector(cluster.nodes[0]!.url);
  outside.on('error', () => {});
  const clock = createTestClock();
  const address = findRedisAddress(cluster.url)!;
  const database = await openRedisDatabase({ address, clock, prefix });
  redis = { database, storage: createRedisStorage(database), permission: createRedisPermission(database) };
  const plain = createMemoryDatabase({ clock });
  memory = { database: plain, storage: createMemoryStorage(plain), permission: createMemoryPermission(plain) };
}, 120_000);

afterAll(async () => {
  outside.disconnect();
  await redis.database.close();
  await cluster.remove();
});

/** A slot of the cluster, as the server reports it. */
async function slotOf(key: string): Promise<number> {
  return outside.cluster('KEYSLOT', key);
}

/** Number of responses that were failures which the client may retry. */
let refusals = 0;

/** Repeats a refused call until it succeeds. Every call here may be done twice. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BackendUnavailable) && !(error instanceof TransactionConflict)) throw error;
      refusals++;
    }
  }
}

type Change = (writer: { readonly storage: StorageWriter; readonly permission: PermissionWriter }) => Promise<unknown>;

function apply({ database, storage, permission }: Backends, change: Change): Promise<unknown> {
  return inUnit(database, (transaction) =>
    change({ storage: storage.writer(transaction), permission: permission.writer(transaction) }),
  );
}

/** Makes one of the changes, by a number. */
function changeOf(n: number): Change {
  const pick = <T>(from: readonly T[], by: number): T => from[Math.floor(n / by) % from.length]!;
  const [parent, principal, user] = [pick(parents, 1), pick(principals, 3), pick(users, 2)];
  const list = { kind: 'record', parent };
  const objectId = `${parent}/records/r${n % 3}`;
  const many = Array.from({ length: n % 200 }, (_, each) => `u${each}`);
  const changes: readonly Change[] = [
    ({ permission }) => permission.addToAces([{ objectId, permissions: { read: [principal], write: ['ann'] } }]),
    ({ permission }) => permission.replaceObjectPermissions(objectId, { read: [...many, principal] }),
    ({ permission }) => permission.removePrincipalFromAce(objectId, 'read', principal),
    ({ permission }) => permission.removePrincipalFromAces(principal),
    ({ permission }) => permission.deleteObjectPermissions([objectId]),
    ({ permission }) => permission.addUserPrincipal(user, '/buckets/a/groups/g'),
    ({ permission }) => permission.removeUserPrincipal(user, '/buckets/a/groups/g'),
    ({ storage }) => storage.update(list, `r${n % 3}`, `{"n":${n}}`),
    async ({ storage, permission }) => {
      await storage.update(list, 'both', `{"n":${n}}`);
      await permission.addPrincipalToAce(`${parent}/records/both`, 'write', principal);
    },
  ];
  return changes[n % changes.length]!;
}

/** Returns the contents that do not depend on the number of attempts. */
async function look({ storage, permission }: Backends, parent: string): Promise<unknown> {
  const ids = ['r0', 'r1', 'r2', 'both'];
  const uris = ids.map((id) => `${parent}/records/${id}`);
  const list = { kind: 'record', parent };
  const bound = uris.map((objectId) => ({ objectId, permission: 'read' }));
  const sorted = (all: ObjectPermissions): unknown =>
    Object.entries(all)
      .map(([name, holders]) => [name, holders.toSorted()] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const accessible = await permission.reader.getAccessibleObjects(['tom'], { memberOf: 'zoe' });
  return {
    permissions: (await permission.reader.getObjectsPermissions(uris)).map(sorted),
    checks: await Promise.all(users.map((user) => permission.reader.checkPermission([user], bound, user))),
    members: await Promise.all(users.map(async (user) => [...(await permission.reader.getUserPrincipals(user))])),
    accessible: [...accessible.keys()].toSorted(),
    texts: await Promise.all(ids.map(async (id) => (await storage.reader.get(list, id))?.text)),
    page: (await storage.reader.listAll(list, { filters: [], sort: [], limit: 10 })).entries.length,
  };
}

/** Changes both stores and compares their contents, until the cluster has been changed. */
async function compareDuring(changing: Promise<void>, seed: number, least: number): Promise<number> {
  let isChanging = true;
  const changed = changing.finally(() => {
    isChanging = false;
  });
  changed.catch(() => {});
  let n = 0;
  for (; isChanging || n < least; n++) {
    const change = changeOf(seed + n * 7);
    await apply(memory, change);
    await persist(() => apply(redis, change));
    const parent = parents[n % parents.length]!;
    expect(await persist(() => look(redis, parent)), `${seed}: ${n}`).toEqual(await look(memory, parent));
  }
  await changed;
  for (const parent of parents) {
    expect(await persist(() => look(redis, parent)), `${seed}`).toEqual(await look(memory, parent));
  }
  return n;
}

describe('a cluster gives correct responses or failures', { timeout: 120_000 }, () => {
  it('while slots move from node to node', async () => {
    await compareDuring(Promise.resolve(), 0, 100);
    const tags = [
      ...parents.map((parent) => keys.entries(parent)),
      ...parents.map((parent) => keys.shard(parent)),
      ...users.map((user) => keys.memberships(toPrincipal(user))),
      ...principals.map((principal) => keys.places(toPrincipal(principal))),
    ];
    const slots = [...new Set(await Promise.all(tags.map(slotOf)))];
    for (const [round, slot] of [...slots, ...slots].entries()) {
      await compareDuring(cluster.moveSlot(slot), 1000 * round, 3);
    }
  });

  it('while half of the keys of a slot have moved', async () => {
    await compareDuring(Promise.resolve(), 5, 50);
    for (const parent of parents) {
      let n = 0;
      await cluster.moveSlot(await slotOf(keys.entries(parent)), async () => {
        const expected = await look(memory, parent);
        const change = changeOf(n++);
        // Refused or done, each change is repeated after the move.
        await apply(redis, change).catch((error: unknown) => {
          if (!(error instanceof BackendUnavailable) && !(error instanceof TransactionConflict)) throw error;
          return expected;
        });
      });
      for (let again = 0; again < n; again++) {
        await apply(memory, changeOf(again));
        await persist(() => apply(redis, changeOf(again)));
      }
      for (const each of parents) expect(await persist(() => look(redis, each))).toEqual(await look(memory, each));
    }
  });

  it('while nodes restart', async () => {
    for (const node of cluster.nodes.slice(0, 3)) {
      const restart = async (): Promise<void> => {
        await node.kill();
        // As configured at the start of the cluster. Otherwise the node would soon give up others.
        await node.start(['--cluster-node-timeout', '30000']);
      };
      await compareDuring(restart(), 700, 5);
    }
  });

  it('while replicas take over from their masters', async () => {
    for (const [round, replica] of [3, 4, 5].entries()) {
      await compareDuring(cluster.failOver(replica), 300 + round, 5);
    }
  });
});

it('fails in bounded time without its masters, and no replica answers', { timeout: 60_000 }, async () => {
  const lone = await RedisCluster.start();
  const address = findRedisAddress(lone.url)!;
  const database = await openRedisDatabase({ address, clock: createTestClock(), prefix, timeoutSeconds: 1 });
  onTestFinished(async () => {
    await database.close();
    await lone.remove();
  });
  const permission = createRedisPermission(database);
  await inUnit(database, (transaction) =>
    permission.writer(transaction).addPrincipalToAce(storedUri('/buckets/a'), 'read', toPrincipal('ann')),
  );
  await lone.replicated();
  for (const master of lone.nodes.slice(0, 3)) await master.kill();
  // The driver looks for nodes after each failure, and finds replicas among others.
  for (let round = 0; round < 5; round++) {
    const reads = Array.from({ length: 20 }, () => permission.reader.getObjectPermissions(storedUri('/buckets/a')));
    for (const outcome of await Promise.allSettled(reads)) {
      expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(BackendUnavailable);
    }
  }
});

it('computes the slots of the keys of a script as the cluster does', async () => {
  const texts = ['', '/buckets/a', '{', '}', '{}', '{a}', '|', 'é', '\0'];
  const all = texts.flatMap((text) => [
    ...keys.list({ kind: 'record', parent: storedParent(text) }),
    keys.granted(text),
    keys.memberships(toPrincipal(text)),
    keys.places(toPrincipal(text)),
    text,
    `{${text}`,
    `{x}${text}`,
  ]);
  const slots = await Promise.all(all.map(slotOf));
  for (const [n, a] of all.entries()) {
    for (const [m, b] of all.entries()) {
      if (slots[n] === slots[m]) continue;
      expect(() => requireOneSlot([a, b]), `${a} ${b}`).toThrow('one slot');
    }
  }
});
