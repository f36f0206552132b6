// The commit writes the permission entries of each object once, with an exact index, in one declared slot.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { migrate } from '../../../src/maintenance/schemas.ts';
import { createService } from '../../../src/app/service.ts';
import { requireOneSlot } from '../../../src/backends/redis/client.ts';
import { commitScript } from '../../../src/backends/redis/commit-script.ts';
import { grantsOf, Keys, unescapeTag } from '../../../src/backends/redis/keys.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import { loadSettings } from '../../../src/backends/load-settings.ts';
import { RedisPermissionTest } from '../../support/redis-permission.ts';
import type { PermissionWriter } from '../../../src/testing/contract/plain-contracts.ts';

const keys = new Keys('test:');
const redis = new RedisPermissionTest('test:');

/** Returns the contents of the hashes of entries: key of the grants, and the member for each principal and object. */
async function expectedGrants(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of await redis.outside.keys('{test:=*}e')) {
    for (const [objectId, text] of Object.entries(await redis.outside.hgetall(key))) {
      const principals = new Set(Object.values(JSON.parse(text) as Record<string, string[]>).flat());
      for (const principal of principals)
        found.push(`${key.slice(0, -1)}g ${grantsOf(toPrincipal(principal))}${objectId}`);
    }
  }
  return found.toSorted();
}

async function storedGrants(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of await redis.outside.keys('{test:=*}g')) {
    for (const member of await redis.outside.zrange(key, 0, -1)) found.push(`${key} ${member}`);
  }
  return found.toSorted();
}

/** Returns for each principal the parents where it may be in an entry. */
async function places(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of await redis.outside.keys('{test:@*}p')) {
    for (const place of await redis.outside.smembers(key)) found.push(`${keys.granted(unescapeTag(place))} ${key}`);
  }
  return found.toSorted();
}

describe('the entries of an object', () => {
  const many = Array.from({ length: 2000 }, (_, n) => `user:${n}`);

  it.each(['together', 'one by one'])('are read and written once when principals are added %s', async (how) => {
    const steps = await redis.countCalls(['hget', 'hset', 'hdel'], () =>
      redis.write(async (writer) => {
        if (how === 'together') await writer.addToAces([{ objectId: '/a/long', permissions: { read: many } }]);
        else for (const principal of many) await writer.addPrincipalToAce('/a/long', 'read', principal);
      }),
    );
    expect(steps).toEqual([1, 1, 0]);
    expect(await redis.permission.reader.getObjectPermissions('/a/long')).toEqual({ read: many });
  });

  it('are read and written once when principals are added, replaced and removed', async () => {
    await redis.write((writer) =>
      writer.addToAces([{ objectId: '/a/b', permissions: { read: many, write: ['zoe'] } }]),
    );
    const steps = await redis.countCalls(['hget', 'hset', 'hdel', 'zrem'], () =>
      redis.write(async (writer) => {
        for (const principal of many) await writer.removePrincipalFromAce('/a/b', 'read', principal);
        await writer.replaceObjectPermissions('/a/b', { write: ['tom'] });
        await writer.addPrincipalToAce('/a/b', 'read', 'user:7');
      }),
    );
    expect(steps).toEqual([1, 1, 0, many.length]);
    expect(await redis.permission.reader.getObjectPermissions('/a/b')).toEqual({ read: ['user:7'], write: ['tom'] });
  });

  it('may have more principals than a call takes arguments', async () => {
    const most = Array.from({ length: 60_000 }, (_, n) => `u${n}`);
    await redis.write((writer) => writer.replaceObjectPermissions('/a/b', { read: most }));
    expect((await redis.permission.reader.getObjectPermissions('/a/b'))['read']).toHaveLength(most.length);
  });

  it('are indexed exactly after any changes of a unit in any order', async () => {
    const objectId = fc.constantFrom('/a/b', '/a/c', '/a/b/x/d', '/a/b/x/e', '/f');
    const principal = fc.constantFrom('ann', 'ann\u0001', 'ann\u0002x', 'tom');
    const kind = fc.constantFrom('grant', 'revoke', 'replace', 'clear', 'below', 'withdraw', 'flush');
    const change = fc.record({ kind, objectId, principal });
    const changes = fc.array(fc.array(change, { minLength: 1, maxLength: 6 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(changes, async (units) => {
        await redis.outside.flushall();
        for (const unit of units) {
          await redis.write(async (writer) => {
            for (const each of unit) await applyChange(writer, each.kind, each.objectId, each.principal);
          });
        }
        const grants = await expectedGrants();
        expect(await storedGrants()).toEqual(grants);
        const found = new Set(grants.map((grant) => principalPlace(grant)));
        expect(await places()).toEqual([...found].toSorted());
      }),
      { numRuns: 150 },
    );
  });
});

/** Returns the key of the grants and the key of the places of the principal, for a grant from `expectedGrants`. */
function principalPlace(grant: string): string {
  const [key = '', member = ''] = grant.split(/ (.*)/s);
  const escaped = member.slice(0, member.indexOf('\u0001'));
  const principal = escaped.replaceAll('\u0002\u0002', '\u0001').replaceAll('\u0002\u0003', '\u0002');
  return `${key} ${keys.places(toPrincipal(principal))}`;
}

function applyChange(writer: PermissionWriter, kind: string, objectId: string, principal: string): Promise<void> {
  switch (kind) {
    case 'grant':
      return writer.addPrincipalToAce(objectId, 'read', principal);
    case 'revoke':
      return writer.removePrincipalFromAce(objectId, 'read', principal);
    case 'replace':
      return writer.replaceObjectPermissions(objectId, { read: [principal, 'zoe'] });
    case 'clear':
      return writer.deleteObjectPermissions([objectId]);
    case 'below':
      return writer.deletePermissionsBelow(objectId);
    case 'withdraw':
      return writer.removePrincipalFromAces(principal);
    default:
      return writer.flush();
  }
}

describe('the keys of a script', () => {
  it('are refused before anything is sent when they lie in several slots', async () => {
    requireOneSlot(['any']);
    requireOneSlot([
      ...keys.list({ kind: 'record', parent: storedParent('/a') }),
      keys.entries('/a'),
      keys.granted('/a'),
    ]);
    for (const wrong of [
      [],
      ['a', 'a'],
      ['{}a', '{}b'],
      ['{a', '{a'],
      [keys.entries('/a'), keys.entries('/b')],
      [keys.entries('/a'), keys.memberships(toPrincipal('/a'))],
      [keys.entries('/a'), `x${keys.granted('/a')}`],
    ]) {
      expect(() => requireOneSlot(wrong), JSON.stringify(wrong)).toThrow(/a key|one slot/);
    }
    await expect(redis.database.client.query('storage', commitScript, ['{a}x', '{b}x'], [])).rejects.toThrow(
      'one slot',
    );
  });

  it('are the only keys that the commit uses on a cluster', async () => {
    const [meta, objects, live] = keys.list({ kind: 'record', parent: storedParent('/a') });
    const commit = (declared: readonly string[], operations: readonly string[]): Promise<unknown> =>
      redis.database.client.run('storage', commitScript, declared, ['test:', '1', 'v', '0', 'mark', ...operations]);
    await expect(commit([meta], ['object', live, 'x', ''])).rejects.toThrow('undeclared');
    await expect(commit([keys.granted('/a')], ['grant', '/a', '/a/b', 'read', '1', 'zoe'])).rejects.toThrow(
      'undeclared',
    );
    await expect(commit([meta], ['drop', keys.tag('/a'), 'record'])).rejects.toThrow(`undeclared key: ${objects}`);
    expect(await commit([meta, live], ['object', live, 'x', ''])).toBe('changed');
  });
});

describe('a database of layout 1', () => {
  const place = keys.tag('/buckets/a');

  async function writeLayout1(): Promise<void> {
    await redis.outside.hset(keys.schema(), 'layout', 1);
    await redis.outside.zadd(`${keys.shard('/buckets/a')}e`, 0, '/buckets/a');
    for (const principal of ['zoe', 'tom']) await redis.outside.sadd(keys.places(toPrincipal(principal)), '/buckets/a');
    await redis.outside.hset(`${place}e`, '/buckets/a/groups/g', '{"read":["zoe","tom"],"write":["zoe"]}');
    await redis.outside.hset(`${place}e`, '/buckets/a/groups/h', '{"read":["tom"]}');
    await redis.outside.sadd(`${place}q`, 'zoe', 'tom');
    await redis.outside.sadd(`${place}g:zoe`, '/buckets/a/groups/g');
    await redis.outside.sadd(`${place}g:tom`, '/buckets/a/groups/g', '/buckets/a/groups/h');
  }

  it('is migrated to this layout, also after an interruption', async () => {
    await writeLayout1();
    expect(await redis.database.initializeSchema({ dryRun: true })).toHaveLength(2);
    expect(await redis.outside.exists(keys.granted('/buckets/a'))).toBe(0);
    for (let n = 0; n < 2; n++) {
      expect(await redis.database.initializeSchema({ dryRun: false })).toHaveLength(2);
      expect(await storedGrants()).toEqual(await expectedGrants());
      expect(await redis.outside.keys(`${place}g:*`)).toEqual([]);
      expect([...(await redis.permission.reader.getAccessibleObjects(['tom'])).keys()].toSorted()).toEqual([
        '/buckets/a/groups/g',
        '/buckets/a/groups/h',
      ]);
      expect(await redis.database.initializeSchema({ dryRun: false })).toEqual([]);
      await writeLayout1();
    }
  });

  it('is migrated when an object has more principals than fit into one call', async () => {
    await writeLayout1();
    const read = Array.from({ length: 120_000 }, (_, n) => `basicauth:${n}`);
    await redis.outside.hset(`${place}e`, '/buckets/a/groups/long', JSON.stringify({ read }));
    await redis.database.initializeSchema({ dryRun: false });
    expect(await storedGrants()).toEqual(await expectedGrants());
  });

  it('is migrated by `coffer migrate` only, while the start marks an empty one', async () => {
    await redis.database.initializeSchema({ dryRun: true });
    expect(redis.database.needsMigration).toBe(false);
    await writeLayout1();
    const settings = loadSettings({
      cwd: '/nowhere',
      environment: {
        SVC_STORAGE_BACKEND: 'redis',
        SVC_PERMISSION_BACKEND: 'redis',
        SVC_STORAGE_URL: redis.server.url,
        SVC_PERMISSION_URL: redis.server.url,
        SVC_REDIS_PREFIX: 'test:',
      },
    });
    await expect(createService({ settings, logger: silentLogger })).rejects.toThrow(
      /run `coffer migrate`[^]*Redis layout/,
    );
    expect(await redis.outside.hget(keys.schema(), 'layout')).toBe('1');
    await migrate(settings, { dryRun: false });
    const service = await createService({ settings, logger: silentLogger });
    await service.close();
  });

  it('is closed to writers of the older version before the migration starts', async () => {
    await writeLayout1();
    // The first operation of a commit of layout 1.
    const probe = (): Promise<number> => redis.outside.setrange(`${keys.schema()}!`, 0, '');
    await probe();
    await redis.database.initializeSchema({ dryRun: false });
    await expect(probe()).rejects.toThrow('WRONGTYPE');
    await redis.write((writer) => writer.addPrincipalToAce('/buckets/a/groups/h', 'write', 'zoe'));
    expect(await storedGrants()).toEqual(await expectedGrants());
  });
});

it('a database of layout 2 is migrated with the members of its groups, without former ones', async () => {
  const group = toPrincipal('/buckets/a/groups/g');
  const old = `${keys.principal(group)}u`;
  const writeLayout2 = async (): Promise<void> => {
    await redis.outside.hset(keys.schema(), 'layout', 2);
    await redis.outside.zadd(`${keys.shard(group)}h`, 0, group);
    await redis.outside.sadd(keys.memberships(toPrincipal('zoe')), group);
    // A cluster kept former members there.
    await redis.outside.sadd(old, 'zoe', 'tom');
  };
  for (let n = 0; n < 2; n++) {
    await writeLayout2();
    expect(await redis.database.initializeSchema({ dryRun: false })).toHaveLength(1);
    expect(await redis.outside.smembers(keys.members(group))).toEqual(['zoe']);
    expect(await redis.outside.exists(old)).toBe(0);
  }
  await expect(redis.outside.setrange(`${keys.schema()}!2`, 0, '')).rejects.toThrow('WRONGTYPE');
  await redis.write((writer) => writer.removePrincipal(group));
  expect(await redis.permission.reader.getUserPrincipals('zoe')).toEqual(new Set());
});
