// The cache contract on memcached. A value contains its expiry by the clock of the service. It also expires on the
// server, which counts whole seconds and gets one more. Writes that depend on the previous value use `cas`, so that
// they never restore a value that was replaced or deleted meanwhile.
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { BackendUnavailable, requireStorable } from '../../contracts/errors.ts';
import type { MemcachedResponse } from './responses.ts';
import { MemcachedClient, type ClientOptions } from './client.ts';
import type { MemcachedHost } from './errors.ts';

export interface MemcachedCacheOptions extends ClientOptions {
  /** Servers, among which the keys are distributed. */
  readonly hosts: readonly MemcachedHost[];
  readonly clock: Clock;
  /** Prefix of all keys of the cache. */
  readonly prefix?: string | undefined;
}

/** A stored value. */
interface Cached {
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
  readonly text: string;
}

/** The current value of a key, even if expired, and its `cas` token. */
interface Lookup {
  readonly cas: string;
  readonly live: Cached | undefined;
}

interface Server {
  readonly name: string;
  readonly client: MemcachedClient;
}

/** Maximum relative expiry. The server interprets larger values as absolute times. */
const maxRelativeSeconds = 60 * 60 * 24 * 30;
const maxDateSeconds = 2 ** 31 - 1;
/** Expiry that deletes a value at once. */
const expireAtOnce = -1;

/**
 * Connects to the servers.
 *
 * @throws BackendUnavailable when a server does not respond
 */
export async function openMemcachedCache(options: MemcachedCacheOptions): Promise<CacheBackend> {
  const servers = options.hosts.map((place): Server => {
    return { name: `${place.host}:${place.port}`, client: new MemcachedClient(place, options) };
  });
  try {
    await Promise.all(servers.map(({ client }) => client.send('version')));
  } catch (error) {
    await Promise.all(servers.map(({ client }) => client.close()));
    throw error;
  }
  return new MemcachedCache(servers, options);
}

class MemcachedCache implements CacheBackend {
  readonly name = 'memcached';
  readonly #servers: readonly Server[];
  readonly #clock: Clock;
  readonly #prefix: string;

  constructor(servers: readonly Server[], { clock, prefix = '' }: MemcachedCacheOptions) {
    this.#servers = servers;
    this.#clock = clock;
    this.#prefix = prefix;
  }

  async set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    const slot = this.#slot(key);
    if (ttlSeconds <= 0) await slot.client.send(`delete ${slot.name}`);
    else await slot.store('set', this.#cached(formatJson(value), ttlSeconds), ttlSeconds);
  }

  async get(key: string): Promise<JsonValue | undefined> {
    return valueOf(await this.#find(this.#slot(key)));
  }

  async delete(key: string): Promise<JsonValue | undefined> {
    const slot = this.#slot(key);
    for (;;) {
      const found = await this.#find(slot);
      if (found?.live === undefined) return undefined;
      if ((await slot.remove(found.cas)) === 'STORED') return valueOf(found);
    }
  }

  async advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number> {
    const slot = this.#slot(key);
    for (;;) {
      const found = await this.#find(slot);
      const moment = Math.max(from, found?.live === undefined ? from : Number(found.live.text)) + by;
      const cached = this.#cached(String(moment), ttlSeconds);
      const line = await slot.store(found === undefined ? 'add' : 'cas', cached, ttlSeconds, found?.cas);
      if (line === 'STORED') return moment;
    }
  }

  async expire(key: string, ttlSeconds: number): Promise<void> {
    const slot = this.#slot(key);
    for (;;) {
      const found = await this.#find(slot);
      if (found?.live === undefined) return;
      const line =
        ttlSeconds <= 0
          ? await slot.remove(found.cas)
          : await slot.store('cas', this.#cached(found.live.text, ttlSeconds), ttlSeconds, found.cas);
      if (line !== 'EXISTS') return;
    }
  }

  async flush(): Promise<void> {
    await Promise.all(this.#servers.map(({ client }) => client.send('flush_all')));
  }

  async initializeSchema(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(({ client }) => client.close()));
  }

  /** Returns the slot of a key. Its name is a hash, so that any key is valid on the server. */
  #slot(key: string): Slot {
    requireStorable(key);
    const name = createHash('sha256').update(`coffer\0${this.#prefix}\0${key}`).digest('base64url');
    return new Slot(this.#servers.length === 1 ? this.#servers[0]!.client : this.#choose(name), name);
  }

  /** Chooses a server by rendezvous hashing: without one server, only its keys move. */
  #choose(name: string): MemcachedClient {
    const ranked = this.#servers.map(({ name: server, client }) => {
      const rank = createHash('sha256').update(`${server}\0${name}`).digest('hex');
      return { rank, client };
    });
    return ranked.reduce((best, candidate) => (candidate.rank > best.rank ? candidate : best)).client;
  }

  async #find(slot: Slot): Promise<Lookup | undefined> {
    const { value } = await slot.client.read(`gets ${slot.name}`);
    if (value === undefined) return undefined;
    const colon = value.text.indexOf(':');
    const expiresAt = Number(value.text.slice(0, colon));
    const isLive = expiresAt > this.#clock.now();
    return { cas: value.cas, live: isLive ? { expiresAt, text: value.text.slice(colon + 1) } : undefined };
  }

  #cached(text: string, ttlSeconds: number): Cached {
    return { expiresAt: this.#clock.now() + Math.max(Math.ceil(ttlSeconds * 1000), 1), text };
  }
}

/** One key on its server. */
class Slot {
  readonly client: MemcachedClient;
  readonly name: string;

  constructor(client: MemcachedClient, name: string) {
    this.client = client;
    this.name = name;
  }

  /**
   * Stores a value and returns the response: `STORED`, or `NOT_STORED`, `EXISTS`, `NOT_FOUND` after a concurrent
   * change.
   */
  async store(
    command: 'set' | 'add' | 'cas',
    { expiresAt, text }: Cached,
    ttlSeconds: number,
    cas?: string,
  ): Promise<string> {
    const block = `${expiresAt}:${text}`;
    const version = cas === undefined ? '' : ` ${cas}`;
    const head = `${command} ${this.name} 0 ${serverSeconds(ttlSeconds)} ${Buffer.byteLength(block)}${version}`;
    try {
      return (await this.client.send(head, block)).line;
    } catch (error) {
      // A value that is too large counts as evicted at once. The server has also deleted the previous value.
      if (isTooLarge(error)) return 'STORED';
      throw error;
    }
  }

  /** Deletes the value with this `cas` token and returns the response as `store` does. */
  async remove(cas: string): Promise<MemcachedResponse['line']> {
    return (await this.client.send(`cas ${this.name} 0 ${expireAtOnce} 0 ${cas}`, '')).line;
  }
}

function valueOf(found: Lookup | undefined): JsonValue | undefined {
  return found?.live === undefined ? undefined : parseStoredJson(found.live.text);
}

/** Returns the expiry for the server, one second longer, because it counts whole seconds. */
function serverSeconds(ttlSeconds: number): number {
  const seconds = Math.ceil(Math.max(ttlSeconds, 0)) + 1;
  if (seconds <= maxRelativeSeconds) return seconds;
  return Math.min(Math.ceil(Date.now() / 1000) + seconds, maxDateSeconds);
}

function isTooLarge(error: unknown): boolean {
  const cause = error instanceof BackendUnavailable ? error.cause : undefined;
  return cause instanceof Error && cause.message.includes('too large');
}
