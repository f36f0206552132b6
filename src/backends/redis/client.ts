// The only file that uses the driver: one connection to a server, or one to each node of a cluster, with all commands
// pipelined. No command waits for longer than the timeout, and no write is sent twice.
import { Cluster, Redis } from 'ioredis';
import { BackendUnavailable, requireStorable } from '../../contracts/errors.ts';
import type { PoolState } from '../../contracts/observer.ts';
import { formatNodes, type RedisAddress } from './address.ts';
import { CommandPool, defaultPoolSize } from './command-pool.ts';
import { isConnectionLoss, isFarewell, isMereEnd, translateError, type BackendName } from './errors.ts';
import type { Script } from './script.ts';

export interface RedisClientOptions {
  readonly address: RedisAddress;
  /**
   * Time limit of a command in the queue of the pool, and again from its start, including the wait for a connection. Also
   * the time limit of units that wait for each other. Default 10.
   */
  readonly timeoutSeconds?: number | undefined;
  /** Maximum number of commands under way. Default 50. */
  readonly poolSize?: number | undefined;
  /**
   * Maximum number of commands that wait for a lost connection, default 1000, and for a place in the pool, default
   * unlimited. More are refused at once.
   */
  readonly maxBacklog?: number | undefined;
}

type Argument = string | number;

export const defaultTimeoutSeconds = 10;
const defaultMaxBacklog = 1000;
const maxReconnectDelayMs = 1000;
const nodesRefreshMs = 5000;
/** Time limit of the end of a connection. The driver also waits for servers that are gone already. */
const disconnectTimeoutMs = 300;

export class RedisClient {
  readonly isCluster: boolean;
  readonly #redis: Redis | Cluster;
  readonly #address: RedisAddress;
  /** Hosts and ports, for messages. */
  readonly place: string;
  readonly #maxBacklog: number;
  readonly #timeoutMs: number;
  readonly #pool: CommandPool;
  /** Scripts that the server has received on the present connection. */
  readonly #known = new Set<Script>();
  #waiting = 0;
  #lostNodes = 0;
  /** The last error of the connection since the last response. */
  #trouble: Error | undefined;

  constructor({
    address,
    timeoutSeconds = defaultTimeoutSeconds,
    poolSize = defaultPoolSize,
    maxBacklog,
  }: RedisClientOptions) {
    this.isCluster = address.isCluster;
    this.#address = address;
    this.place = formatNodes(address);
    this.#maxBacklog = maxBacklog ?? defaultMaxBacklog;
    this.#timeoutMs = timeoutSeconds * 1000;
    this.#pool = new CommandPool({ size: poolSize, timeoutMs: this.#timeoutMs, maxBacklog: maxBacklog ?? Infinity });
    this.#redis = address.isCluster ? createCluster(address, timeoutSeconds) : createRedis(address, timeoutSeconds);
    this.#redis.on('close', () => this.#known.clear());
    this.#redis.on('-node', () => this.#lostNodes++);
    if (this.#redis instanceof Cluster) this.#countReplacedMasters(this.#redis);
    // The driver makes replicas answer reads. Replicas may be behind, so here only masters answer.
    this.#redis.on('+node', (node: Redis) => Object.assign(node, { readonly: async () => 'OK' }));
    // Each command reports its own failure. Without a listener the driver would also print it.
    this.#redis.on('error', (error: Error) => this.#noteTrouble(error));
  }

  /** Number of the database. */
  get db(): number {
    return this.#address.db;
  }

  /** Number of connections to nodes of the cluster that have ended, and of changes of its masters. */
  get lostNodes(): number {
    return this.#lostNodes;
  }

  /** Returns the current use of the command pool. */
  get poolState(): PoolState {
    return this.#pool.state;
  }

  /** @throws BackendUnavailable when no server responds */
  async connect(backend: BackendName): Promise<void> {
    try {
      await this.#redis.connect();
      // A server has not responded yet. A cluster has: it has returned its nodes.
      if (!this.isCluster) await this.call(backend, 'PING');
    } catch (error) {
      this.#redis.disconnect();
      throw translateError(error, backend, this.place, this.#trouble);
    }
  }

  /** Sends a command with one key. The keys of a command with several could lie in different slots. */
  async call(backend: BackendName, command: string, ...args: readonly Argument[]): Promise<unknown> {
    requireStorableArguments(args);
    return this.#send(backend, () => this.#redis.call(command, [...args]));
  }

  /** Sends a command that only reads. It is sent again when the connection breaks meanwhile. */
  async read(backend: BackendName, command: string, ...args: readonly Argument[]): Promise<unknown> {
    requireStorableArguments(args);
    return this.#sendTwice(backend, () => this.#redis.call(command, [...args]));
  }

  /** Commands that only read, each of one key, sent together in one place of the pool. The answers are in their order. */
  async readTogether(
    backend: BackendName,
    commands: readonly (readonly [command: string, ...args: Argument[]])[],
  ): Promise<readonly unknown[]> {
    for (const args of commands) requireStorableArguments(args);
    return this.#sendTwice(backend, () =>
      Promise.all(commands.map(([command, ...args]) => this.#redis.call(command, args))),
    );
  }

  /** Runs a script. A single server executes it after all earlier commands and before all later ones. */
  run(backend: BackendName, script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#send(backend, () => this.#evaluate(script, keys, args));
  }

  /** Runs a script that only reads. It is sent again when the connection breaks meanwhile. */
  query(backend: BackendName, script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#sendTwice(backend, () => this.#evaluate(script, keys, args));
  }

  /** Runs a script as `query` does, with keys of any slot; for single servers only. */
  queryAnywhere(
    backend: BackendName,
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<unknown> {
    if (this.isCluster) throw new Error('a script reaches one slot of a cluster');
    return this.#sendTwice(backend, () => this.#sendScript(script, keys, args));
  }

  /** Sends a message to the subscribers of a channel. On a cluster one node passes on all of them, so they keep their order. */
  async publish(backend: BackendName, channel: string, message: string): Promise<void> {
    await this.#send(backend, async () => this.#publisher().call('PUBLISH', [channel, message]));
  }

  /**
   * Creates a connection of its own, which is not made yet, and not again when it is lost.
   *
   * @param attempt number of the attempt; on a cluster each leads to another node
   */
  createConnection(attempt: number): Redis {
    return new Redis({
      ...commonOptions(this.#address, this.#timeoutMs / 1000),
      ...this.#nodeOf(attempt),
      lazyConnect: true,
      retryStrategy: () => null,
      enableReadyCheck: false,
    });
  }

  /** Deletes every key that starts with the prefix, in chunks. */
  async deletePrefix(backend: BackendName, prefix: string): Promise<void> {
    const match = `${prefix.replaceAll(/[*?[\]\\]/g, String.raw`\$&`)}*`;
    const nodes = this.#redis instanceof Cluster ? this.#redis.nodes('master') : [this.#redis];
    for (const node of nodes) {
      let cursor = '0';
      do {
        const [next, keys] = await this.#send(backend, () => node.scan(cursor, 'MATCH', match, 'COUNT', 1000));
        await Promise.all(keys.map((key) => this.call(backend, 'UNLINK', key)));
        cursor = next;
      } while (cursor !== '0');
    }
  }

  /** Ends the connection after all commands have their responses. */
  async close(): Promise<void> {
    try {
      await this.#redis.quit();
    } catch {
      // The connection is lost already.
      this.#redis.disconnect();
    }
  }

  /** A node that a replica has replaced may stay connected, as a replica. */
  #countReplacedMasters(cluster: Cluster): void {
    let known = '';
    cluster.on('refresh', () => {
      const masters = cluster.nodes('master').map(({ options: { host, port } }) => `${host}:${port}`);
      const found = masters.toSorted().join(' ');
      if (known !== '' && known !== found) this.#lostNodes++;
      known = found;
    });
  }

  #publisher(): Redis {
    if (!(this.#redis instanceof Cluster)) return this.#redis;
    const nodes = this.#redis.nodes('master');
    const node = nodes.find(({ status }) => status === 'ready') ?? nodes[0];
    if (node === undefined) throw new Error('no node of the cluster is known');
    return node;
  }

  #nodeOf(attempt: number): { readonly host: string; readonly port: number; readonly db?: number } {
    const { nodes, db } = this.#address;
    if (!(this.#redis instanceof Cluster)) return { ...nodes[0]!, db };
    const known = this.#redis.nodes('master').map(({ options: { host, port } }) => ({ host, port }));
    const reachable = known.filter((node): node is { host: string; port: number } => {
      return node.host !== undefined && node.port !== undefined;
    });
    const all = [...reachable, ...nodes];
    return all[attempt % all.length]!;
  }

  async #evaluate(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    requireOneSlot(keys);
    return this.#sendScript(script, keys, args);
  }

  /** Sends the text of a script once per connection, and only its hash from then on. */
  async #sendScript(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    requireStorableArguments(keys);
    requireStorableArguments(args);
    // An array, because a call cannot take as many arguments as a large unit of work has.
    const call = (command: 'EVAL' | 'EVALSHA', text: string): Promise<unknown> =>
      this.#redis.call(command, [text, keys.length, ...keys, ...args]);
    if (!this.#known.has(script) && !this.isCluster) {
      this.#known.add(script);
      return call('EVAL', script.source);
    }
    try {
      return await call('EVALSHA', script.hash);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return call('EVAL', script.source);
    }
  }

  async #send<T>(backend: BackendName, command: () => Promise<T>): Promise<T> {
    const isWaiting = this.#redis.status !== 'ready';
    if (isWaiting) this.#admit(backend);
    const place = { isTaken: false };
    const start = (): Promise<T> => {
      place.isTaken = true;
      return this.isCluster ? this.#within(command()) : command();
    };
    try {
      const before = this.#trouble;
      const answer = await this.#pool.start(backend, start);
      // Errors of the connection during the command came after its response.
      if (this.#trouble === before) this.#trouble = undefined;
      return answer;
    } catch (error) {
      if (isFarewell(error)) this.#trouble = error;
      forgetCommand(error);
      throw translateError(error, backend, this.place, this.#trouble);
    } finally {
      if (place.isTaken) this.#pool.end();
      if (isWaiting) this.#waiting--;
    }
  }

  async #sendTwice<T>(backend: BackendName, command: () => Promise<T>): Promise<T> {
    const began = performance.now();
    try {
      return await this.#send(backend, command);
    } catch (error) {
      if (!(error instanceof BackendUnavailable) || !isConnectionLoss(error.cause)) throw error;
      // A server that was silent for this long will hardly respond now, and the caller has waited long enough.
      if (performance.now() - began > this.#timeoutMs / 2) throw error;
      return this.#send(backend, command);
    }
  }

  /** Limits the time of a command. The driver limits it on one node only, and not the search for a node. */
  async #within<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('Command timed out')), this.#timeoutMs);
    });
    try {
      return await Promise.race([answer, tooLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  #noteTrouble(error: Error): void {
    if (!isFarewell(this.#trouble) || !isMereEnd(error)) this.#trouble = error;
  }

  #admit(backend: BackendName): void {
    if (this.#waiting >= this.#maxBacklog) {
      throw new BackendUnavailable(backend, 'Redis: too many commands wait for a connection');
    }
    this.#waiting++;
  }
}

/**
 * Refuses texts that would become another key or value on the server, where lone surrogates become U+FFFD.
 *
 * @throws UnstorableText before anything is sent
 */
function requireStorableArguments(args: readonly Argument[]): void {
  for (const argument of args) if (typeof argument === 'string') requireStorable(argument);
}

/**
 * Verifies that all keys of a script lie in one slot. A cluster sends a script to the node of its first key.
 *
 * @throws Error when a key does not carry the hash tag of the first
 */
export function requireOneSlot(keys: readonly string[]): void {
  const [first, ...others] = keys;
  if (first === undefined) throw new Error('a script needs a key');
  if (others.length === 0) return;
  const tag = first.startsWith('{') ? first.slice(0, first.indexOf('}') + 1) : '';
  // An empty tag does not count: the server then hashes the whole key.
  const isOneSlot = tag.length > 2 && others.every((key) => key.startsWith(tag));
  if (!isOneSlot) throw new Error('the keys of a script do not belong to one slot');
}

/** Removes the command with its arguments, which the driver adds to errors: logs must not contain data or passwords. */
export function forgetCommand(error: unknown): void {
  if (error instanceof Error && 'command' in error) delete error.command;
}

function commonOptions({ tls, username, password }: RedisAddress, timeoutSeconds: number): object {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
    commandTimeout: timeoutSeconds * 1000,
    connectTimeout: timeoutSeconds * 1000,
    // A silent connection is closed, so that the next command can find a new server.
    socketTimeout: timeoutSeconds * 1000,
    // A command under way when a connection breaks fails at once, because the server may have executed it or not.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    disconnectTimeout: disconnectTimeoutMs,
    // A server without room responds once and closes the connection. That response must reach a command with a listener.
    disableClientInfo: true,
  };
}

function createRedis(address: RedisAddress, timeoutSeconds: number): Redis {
  const node = address.nodes[0]!;
  return new Redis({
    ...commonOptions(address, timeoutSeconds),
    host: node.host,
    port: node.port,
    db: address.db,
    lazyConnect: true,
    retryStrategy: reconnectDelay,
    // A server that loads its data reports it in response to each command, at once.
    enableReadyCheck: false,
    // After a failover the address may belong to a replica, so the connection must be opened anew.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

function createCluster(address: RedisAddress, timeoutSeconds: number): Cluster {
  return new Cluster([...address.nodes], {
    lazyConnect: true,
    redisOptions: commonOptions(address, timeoutSeconds),
    clusterRetryStrategy: reconnectDelay,
    slotsRefreshTimeout: timeoutSeconds * 1000,
    // Commands to other slots do not show that a node is not the master of its slots any more.
    slotsRefreshInterval: nodesRefreshMs,
    // Zero turns off the driver's own retries, which could write twice.
    retryDelayOnFailover: 0,
    retryDelayOnMoved: 10,
  });
}

function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), maxReconnectDelayMs);
}
