// The cache contract on Redis. A value stores its expiry by the service's clock, and its key expires on the server too. The
// earlier of the two ends it.
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { RedisClient, type RedisClientOptions } from './client.ts';
import { defaultPrefix } from './database.ts';
import { script } from './script.ts';

export interface RedisCacheOptions extends RedisClientOptions {
  readonly clock: Clock;
  /** Prefix of the names of all keys, as for the database. */
  readonly root?: string | undefined;
  /** Prefix of every key of the cache. */
  readonly prefix?: string | undefined;
}

interface Cached {
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
  readonly text: string;
}

/** Replaces the expiry of a value, if the value is still the one that was read. */
const expireScript = script(`
local found = redis.call('GET', KEYS[1])
if found ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`);

/** Advances an instant. ARGV: the milliseconds to add, the earliest start, the time, and expiry and time to live. */
const advanceScript = script(`
local found = redis.call('GET', KEYS[1])
local moment = tonumber(ARGV[2])
if found then
  local colon = string.find(found, ':', 1, true)
  if tonumber(string.sub(found, 1, colon - 1)) > tonumber(ARGV[3]) then
    moment = math.max(moment, tonumber(string.sub(found, colon + 1)))
  end
end
local text = string.format('%.0f', moment + tonumber(ARGV[1]))
redis.call('SET', KEYS[1], ARGV[4] .. ':' .. text, 'PX', ARGV[5])
return text
`);

/**
 * Opens a cache.
 *
 * @throws BackendUnavailable when no server responds
 */
export async function openRedisCache(options: RedisCacheOptions): Promise<CacheBackend> {
  const client = new RedisClient(options);
  await client.connect('cache');
  return new RedisCache(client, options);
}

class RedisCache implements CacheBackend {
  readonly name = 'redis';
  readonly #client: RedisClient;
  readonly #clock: Clock;
  readonly #prefix: string;

  constructor(client: RedisClient, { clock, root = defaultPrefix, prefix = '' }: RedisCacheOptions) {
    this.#client = client;
    this.#clock = clock;
    // Separate from the data, so that a flush of the cache on the same server does not delete data.
    this.#prefix = `${root}cache:${prefix}`;
  }

  async set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    if (ttlSeconds <= 0) await this.#client.call('cache', 'UNLINK', this.#prefix + key);
    else await this.#client.call('cache', 'SET', this.#prefix + key, ...this.#stored(formatJson(value), ttlSeconds));
  }

  async get(key: string): Promise<JsonValue | undefined> {
    return this.#value(await this.#client.read('cache', 'GET', this.#prefix + key));
  }

  async delete(key: string): Promise<JsonValue | undefined> {
    return this.#value(await this.#client.call('cache', 'GETDEL', this.#prefix + key));
  }

  async advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number> {
    const milliseconds = Math.max(Math.ceil(ttlSeconds * 1000), 1);
    const now = this.#clock.now();
    const values = [String(by), String(from), String(now), String(now + milliseconds), milliseconds];
    return Number(await this.#client.run('cache', advanceScript, [this.#prefix + key], values));
  }

  async expire(key: string, ttlSeconds: number): Promise<void> {
    const name = this.#prefix + key;
    for (;;) {
      const found = await this.#client.read('cache', 'GET', name);
      const cached = this.#parse(found);
      if (cached === undefined) return;
      if (ttlSeconds <= 0) {
        await this.#client.call('cache', 'UNLINK', name);
        return;
      }
      const [stored, , milliseconds] = this.#stored(cached.text, ttlSeconds);
      const done = await this.#client.run('cache', expireScript, [name], [String(found), stored, milliseconds]);
      if (done === 1) return;
    }
  }

  flush(): Promise<void> {
    return this.#client.deletePrefix('cache', this.#prefix);
  }

  async initializeSchema(): Promise<readonly string[]> {
    return [];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Returns the arguments of `SET` after the key. */
  #stored(text: string, ttlSeconds: number): readonly [string, 'PX', number] {
    const milliseconds = Math.max(Math.ceil(ttlSeconds * 1000), 1);
    return [`${this.#clock.now() + milliseconds}:${text}`, 'PX', milliseconds];
  }

  #value(found: unknown): JsonValue | undefined {
    const cached = this.#parse(found);
    return cached === undefined ? undefined : parseStoredJson(cached.text);
  }

  #parse(found: unknown): Cached | undefined {
    if (typeof found !== 'string') return undefined;
    const colon = found.indexOf(':');
    const expiresAt = Number(found.slice(0, colon));
    return expiresAt > this.#clock.now() ? { expiresAt, text: found.slice(colon + 1) } : undefined;
  }
}
