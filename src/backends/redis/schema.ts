// The version of the layout of keys, and the requirements for a server that keeps data.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { toPrincipals } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import { grantsOf, unescapeTag, type Keys } from './keys.ts';
import { parseEntries } from './permission-log.ts';
import { membersWithPrefix } from './registries.ts';

const layout = 3;

/** Maximum number of arguments of one command. */
const maxArguments = 2000;

/** Moves the data of a layout to the next one; may run again after an interruption. */
interface Migration {
  /** Says what it does, in a few words. */
  readonly work: string;
  readonly run: (client: RedisClient, keys: Keys) => Promise<void>;
}

/** Migrations from layout 1, from layout 2 and so on. */
const migrations: readonly Migration[] = [
  { work: 'join the sets of grants of each parent', run: regrant },
  { work: 'move the sets of users to the groups', run: moveUsers },
];

/** The steps of a migration, done or pending. */
export interface SchemaSteps {
  /** One line for each step. */
  readonly lines: readonly string[];
  /** Whether the database has an older layout, which processes of an older version may be using. */
  readonly isOlder: boolean;
}

/**
 * Marks an empty database with this layout, or migrates one with an older layout.
 *
 * @param dryRun whether to report the steps only
 * @throws Error when a newer version has written the database, or the server may evict data
 */
export async function bringUpToDate(client: RedisClient, keys: Keys, dryRun: boolean): Promise<SchemaSteps> {
  const found = await client.read('storage', 'HGET', keys.schema(), 'layout');
  if (Number(found ?? 0) > layout) {
    throw new Error(
      `the Redis database has layout ${String(found)}, this version knows ${layout}: use a newer version`,
    );
  }
  const eviction = await findEviction(client);
  if (eviction !== undefined) throw eviction;
  if (Number(found) === layout) return { lines: [], isOlder: false };
  const isOlder = found !== null;
  const pending = isOlder ? migrations.slice(Number(found) - 1) : [];
  if (!dryRun) {
    // Processes of an older version probe these keys before they write. Now their writes fail instead of being lost.
    if (isOlder)
      for (const probe of ['!', '!2']) await client.call('storage', 'HSET', `${keys.schema()}${probe}`, 'closed', 1);
    for (const { run } of pending) await run(client, keys);
    await client.call('storage', 'HSET', keys.schema(), 'layout', layout);
  }
  const works = isOlder ? pending.map(({ work }) => work) : ['mark the empty database as one of this service'];
  return { lines: works.map((work) => `${work} (Redis layout, version ${layout})`), isOlder };
}

/** Returns why the server may evict data. Data has no time to live, so only the `allkeys-` policies evict it. */
export async function findEviction(client: RedisClient): Promise<BackendUnavailable | undefined> {
  const memory = String(await client.read('storage', 'INFO', 'memory'));
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'noeviction';
  const limit = /^maxmemory:(\d+)/m.exec(memory)?.[1] ?? '0';
  if (!policy.startsWith('allkeys-') || limit === '0') return undefined;
  const what = 'the Redis server evicts data when its memory is full';
  const message = `${what}: set maxmemory-policy to noeviction, not ${policy}`;
  return new BackendUnavailable('storage', message, { reason: what, isLasting: true });
}

/** Migrates from layout 1, which had a set for each principal of a parent, and a set of these principals. */
async function regrant(client: RedisClient, keys: Keys): Promise<void> {
  for (const place of await membersWithPrefix(client, keys, 'e', '')) {
    const parent = unescapeTag(place);
    const [entries, grants, tag] = [keys.entries(parent), keys.granted(parent), keys.tag(parent)];
    for (let cursor: string | undefined = '0'; cursor !== undefined;) {
      const scan = await client.read('permission', 'HSCAN', entries, cursor, 'COUNT', 100);
      const [next, fields] = scan as [string, string[]];
      for (let at = 0; at < fields.length; at += 2) {
        const principals = new Set(Array.from(parseEntries(fields[at + 1]).values(), (each) => [...each]).flat());
        const members = Array.from(principals, (principal) => ['0', grantsOf(principal) + fields[at]!]).flat();
        for (let first = 0; first < members.length; first += maxArguments) {
          await client.call('permission', 'ZADD', grants, ...members.slice(first, first + maxArguments));
        }
      }
      cursor = next === '0' ? undefined : next;
    }
    const principals = (await client.read('permission', 'SMEMBERS', `${tag}q`)) as string[];
    for (const principal of principals) await client.call('permission', 'UNLINK', `${tag}g:${principal}`);
    await client.call('permission', 'UNLINK', `${tag}q`);
  }
}

/**
 * Migrates from layout 2, in which the users of a principal lay in a slot of their own. There a cluster also kept former
 * members: the set of a user decided.
 */
async function moveUsers(client: RedisClient, keys: Keys): Promise<void> {
  for (const principal of toPrincipals(await membersWithPrefix(client, keys, 'h', ''))) {
    const old = `${keys.principal(principal)}u`;
    for (let cursor: string | undefined = '0'; cursor !== undefined;) {
      const scan = await client.read('permission', 'SSCAN', old, cursor, 'COUNT', 100);
      const [next, users] = scan as [string, string[]];
      const asked = toPrincipals(users).map((user) => ['SISMEMBER', keys.memberships(user), principal] as const);
      const replies = await client.readTogether('permission', asked);
      const members = users.filter((_, index) => replies[index] === 1);
      if (members.length > 0) await client.call('permission', 'SADD', keys.members(principal), ...members);
      cursor = next === '0' ? undefined : next;
    }
    await client.call('permission', 'UNLINK', old);
  }
}
