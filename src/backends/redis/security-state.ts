// The contract of security state on Redis: three keys for each purpose, all in one slot, so that each call is one script.
// The keys have no time to live: a server with a `volatile-` policy would evict them first.
import type { Clock } from '../../base/clock.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import type { SecurityEntry, SecurityKey, SecurityState, SecurityStateLimits } from '../../contracts/security-state.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { script, type Script } from './script.ts';

export interface RedisSecurityStateOptions extends SecurityStateLimits {
  readonly client: RedisClient;
  readonly keys: Keys;
  readonly clock: Clock;
}

// KEYS: the entries (field: key; value: expiry, requester and value), the expiries (sorted set of keys), and the number of
// entries per requester. ARGV: the time, the key, and the arguments of each script.
const preamble = `
local entries, expiries, counts = KEYS[1], KEYS[2], KEYS[3]
local now, key = tonumber(ARGV[1]), ARGV[2]

local function read(name)
  local found = redis.call('HGET', entries, name)
  if not found then return nil end
  local expiry, requester, value = string.match(found, '^(%S+) (%S*) (.*)$')
  return { expiry = expiry, requester = requester, value = value, isLive = tonumber(expiry) > now }
end

local function remove(name, entry)
  redis.call('HDEL', entries, name)
  redis.call('ZREM', expiries, name)
  if entry.requester ~= '' and redis.call('HINCRBY', counts, entry.requester, -1) <= 0 then
    redis.call('HDEL', counts, entry.requester)
  end
end

local function write(name, entry)
  redis.call('HSET', entries, name, entry.expiry .. ' ' .. entry.requester .. ' ' .. entry.value)
  redis.call('ZADD', expiries, entry.expiry, name)
end

local function insert(name, entry)
  if entry.requester ~= '' then redis.call('HINCRBY', counts, entry.requester, 1) end
  write(name, entry)
end

local function purge(most)
  local expired = redis.call('ZRANGEBYSCORE', expiries, '-inf', ARGV[1], 'LIMIT', 0, most)
  for _, name in ipairs(expired) do remove(name, read(name) or { requester = '' }) end
  return #expired
end

local known = read(key)
if known and not known.isLive then
  remove(key, known)
  known = nil
end
`;

/**
 * ARGV: requester, value, expiry, maximum of all entries, maximum of the requester, action, limit of a counter. Returns
 * `done`, `live` with the expiry of the existing entry, `again`, or the limit that is reached.
 */
const insertScript = script(`${preamble}
local entry = { requester = ARGV[3], value = ARGV[4], expiry = ARGV[5] }
local most, share, action = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
if known then
  if action == 'add' then return { 'live', known.expiry } end
  if action == 'put' then
    known.value, known.expiry = entry.value, entry.expiry
  else
    local count = tonumber(known.value)
    if count >= tonumber(ARGV[9]) then return { 'live', known.expiry } end
    known.value = string.format('%d', count + 1)
  end
  write(key, known)
  return { 'done' }
end
purge(10)
local isOverShare = entry.requester ~= '' and tonumber(redis.call('HGET', counts, entry.requester) or '0') >= share
if isOverShare or redis.call('ZCARD', expiries) >= most then
  if purge(1000) > 0 then return { 'again' } end
  return { isOverShare and 'requester' or 'purpose' }
end
insert(key, entry)
return { 'done' }
`);

/** ARGV: `get`, `remove`, `decrement`, `take` with the value, or `replace` with both values. Returns the value that was found. */
const useScript = script(`${preamble}
local action = ARGV[3]
if not known then return false end
if (action == 'take' or action == 'replace') and known.value ~= ARGV[4] then return false end
if action == 'replace' then
  known.value = ARGV[5]
  write(key, known)
  return ARGV[4]
end
if action == 'decrement' then
  local count = tonumber(known.value)
  if count > 1 then
    known.value = string.format('%d', count - 1)
    write(key, known)
    return false
  end
end
if action ~= 'get' then remove(key, known) end
return known.value
`);

/** Creates a store on the connection of a database, which closes it. */
export function createRedisSecurityState(options: RedisSecurityStateOptions): SecurityState {
  return new RedisSecurityState(options);
}

class RedisSecurityState implements SecurityState {
  readonly name = 'redis';
  readonly #options: RedisSecurityStateOptions;

  constructor(options: RedisSecurityStateOptions) {
    this.#options = options;
  }

  async increment(
    entry: SecurityEntry,
    { limit, ttlSeconds }: { readonly limit: number; readonly ttlSeconds: number },
  ): Promise<number | undefined> {
    const expiresAt = await this.#insert(entry, 'increment', { value: '1', ttlSeconds }, limit);
    return expiresAt === undefined ? undefined : (expiresAt - this.#options.clock.now()) / 1000;
  }

  async decrement(key: SecurityKey): Promise<void> {
    await this.#use(key, 'decrement');
  }

  async put(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<void> {
    await this.#insert(entry, 'put', { value, ttlSeconds });
  }

  async add(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<boolean> {
    return (await this.#insert(entry, 'add', { value, ttlSeconds })) === undefined;
  }

  get(key: SecurityKey): Promise<string | undefined> {
    return this.#use(key, 'get');
  }

  async replace(key: SecurityKey, from: string, to: string): Promise<boolean> {
    return (await this.#use(key, 'replace', from, to)) !== undefined;
  }

  async take(key: SecurityKey, value: string): Promise<boolean> {
    return (await this.#use(key, 'take', value)) !== undefined;
  }

  async remove(key: SecurityKey): Promise<void> {
    await this.#use(key, 'remove');
  }

  flush(): Promise<void> {
    const { client, keys } = this.#options;
    return client.deletePrefix('storage', keys.security(''));
  }

  async initializeSchema(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    // The connection belongs to the database.
  }

  /**
   * @returns `undefined` when the entry was stored; otherwise the expiry of the live entry that prevents it
   * @throws SecurityStateFull
   */
  async #insert(
    entry: SecurityEntry,
    action: 'increment' | 'put' | 'add',
    { value, ttlSeconds }: { readonly value: string; readonly ttlSeconds: number },
    limit = 0,
  ): Promise<number | undefined> {
    const { clock, maxEntries, maxEntriesPerRequester } = this.#options;
    const { purpose, requester = '', maxPerRequester = Infinity, isBoundElsewhere = false } = entry;
    const most = isBoundElsewhere ? Number.MAX_SAFE_INTEGER : maxEntries;
    const share = Math.min(maxPerRequester, maxEntriesPerRequester);
    for (;;) {
      const expiresAt = clock.now() + Math.ceil(ttlSeconds * 1000);
      const args = [requester, value, expiresAt, most, share, action, limit];
      const [outcome, found] = (await this.#run(insertScript, entry, args)) as [string, string?];
      if (outcome === 'done') return undefined;
      if (outcome === 'live') return Number(found);
      if (outcome === 'again') continue;
      throw new SecurityStateFull(purpose, outcome === 'requester' ? 'requester' : 'purpose', ttlSeconds);
    }
  }

  async #use(
    key: SecurityKey,
    action: 'get' | 'remove' | 'decrement' | 'take' | 'replace',
    ...more: readonly string[]
  ): Promise<string | undefined> {
    return ((await this.#run(useScript, key, [action, ...more])) as string | null) ?? undefined;
  }

  #run(program: Script, { purpose, key }: SecurityKey, args: readonly (string | number)[]): Promise<unknown> {
    const { client, keys, clock } = this.#options;
    const names = ['entries', 'expiries', 'counts'].map((part) => keys.security(`${purpose}:${part}`));
    return client.run('storage', program, names, [clock.now(), key, ...args]);
  }
}
