// The only file that knows the driver: one connection for a server, or one for each node of a cluster, over which all
// commands travel pipelined. Nothing waits for longer than the timeout, and nothing is ever sent twice unasked.
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
   * How long a command may wait for its place in the pool, how long it may take from then on, waiting for a connection
   * included, and how long units wait for each other. Default 10.
   */
  readonly timeoutSeconds?: number | undefined;
  /** Commands under way at the same time. Default 50. */
  readonly poolSize?: number | undefined;
  /**
   * How many commands may wait for a lost connection to come back, default 1000, and for a place in the pool, default any
   * number; more are refused at once.
   */
  readonly maxBacklog?: number | undefined;
}

type Argument = string | number;

export const defaultTimeoutSeconds = 10;
const defaultMaxBacklog = 1000;
const maxReconnectDelayMs = 1000;
/** How long a server may take to say goodbye; the driver waits for those, too, that are gone already. */
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
  /** Scripts the server has been sent on the present connection. */
  readonly #known = new Set<Script>();
  #waiting = 0;
  #lostNodes = 0;
  /** What went wrong with the connection since the last answer. */
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
    // The driver asks replicas to answer reads. They may be behind, and here only a master may say what there is.
    this.#redis.on('+node', (node: Redis) => Object.assign(node, { readonly: async () => 'OK' }));
    // Each command reports its own failure; without a listener the driver would print them as well.
    this.#redis.on('error', (error: Error) => this.#noteTrouble(error));
  }

  /** Number of the database. */
  get db(): number {
    return this.#address.db;
  }

  /** How many connections to nodes of the cluster have ended. */
  get lostNodes(): number {
    return this.#lostNodes;
  }

  /** How the places for commands are used at the moment. */
  get poolState(): PoolState {
    return this.#pool.state;
  }

  /** @throws BackendUnavailable when there is no server to talk to */
  async connect(backend: BackendName): Promise<void> {
    try {
      await this.#redis.connect();
      // The server has not said anything yet; a cluster has told its nodes.
      if (!this.isCluster) await this.call(backend, 'PING');
    } catch (error) {
      this.#redis.disconnect();
      throw translateError(error, backend, this.place, this.#trouble);
    }
  }

  /** One command, of one key: those of several would meet keys of other slots. */
  async call(backend: BackendName, command: string, ...args: readonly Argument[]): Promise<unknown> {
    requireStorableArguments(args);
    return this.#send(backend, () => this.#redis.call(command, [...args]));
  }

  /** A command that only reads: it is sent again when the connection breaks under it. */
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

  /** A script. On a server, commands sent before are executed before it, and those sent later after it. */
  run(backend: BackendName, script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#send(backend, () => this.#evaluate(script, keys, args));
  }

  /** A script that only reads: it is sent again when the connection breaks under it. */
  query(backend: BackendName, script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#sendTwice(backend, () => this.#evaluate(script, keys, args));
  }

  /** As `query`, with keys of any slot: for a server that has them all, and not for a cluster. */
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

  /** Deletes every key that starts with the prefix, a few at a time. */
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

  /** Ends the connection after what was sent has been answered. */
  async close(): Promise<void> {
    try {
      await this.#redis.quit();
    } catch {
      // There is no connection that could be ended in good order.
      this.#redis.disconnect();
    }
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

  /** The text of a script travels once per connection, its hash from then on. */
  async #sendScript(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    requireStorableArguments(keys);
    requireStorableArguments(args);
    // As an array, because a call cannot take as many arguments as a large unit of work makes.
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
      // What went wrong meanwhile went wrong after this command.
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
      // Who was silent for so long will hardly answer now, and the caller has waited enough.
      if (performance.now() - began > this.#timeoutMs / 2) throw error;
      return this.#send(backend, command);
    }
  }

  /** The driver limits the time of a command on one node, and not how long it looks for a node that takes it. */
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
 * Refuses what would be another key or value on the server, where lone surrogates become U+FFFD, or on other backends.
 *
 * @throws UnstorableText before anything is sent
 */
function requireStorableArguments(args: readonly Argument[]): void {
  for (const argument of args) if (typeof argument === 'string') requireStorable(argument);
}

/**
 * A cluster sends a script where the first key lies, and nothing but its keys says what else it touches.
 *
 * @throws Error when the keys do not all carry the hash tag of the first
 */
export function requireOneSlot(keys: readonly string[]): void {
  const [first, ...others] = keys;
  if (first === undefined) throw new Error('a script needs a key');
  if (others.length === 0) return;
  const tag = first.startsWith('{') ? first.slice(0, first.indexOf('}') + 1) : '';
  // Between the braces of an empty tag the server finds nothing, and takes the whole key.
  const isOneSlot = tag.length > 2 && others.every((key) => key.startsWith(tag));
  if (!isOneSlot) throw new Error('the keys of a script do not belong to one slot');
}

/** The driver puts the command with its arguments beside an error, but neither data nor passwords belong into a log. */
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
    // A connection on which nothing comes back is given up, so that the next command finds its way to a new server.
    socketTimeout: timeoutSeconds * 1000,
    // What was under way when a connection broke fails at once: nobody knows whether the server has done it.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    disconnectTimeout: disconnectTimeoutMs,
    // The first answer of a server without room is its farewell, and shall reach somebody who listens.
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
    // A server that loads its data says so in answer to each command, at once.
    enableReadyCheck: false,
    // After a failover the address may belong to a replica: the connection has to find its way anew.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

function createCluster(address: RedisAddress, timeoutSeconds: number): Cluster {
  return new Cluster([...address.nodes], {
    lazyConnect: true,
    redisOptions: commonOptions(address, timeoutSeconds),
    clusterRetryStrategy: reconnectDelay,
    slotsRefreshTimeout: timeoutSeconds * 1000,
    // Zero turns the driver's own repetition of commands off, which could write twice.
    retryDelayOnFailover: 0,
    retryDelayOnMoved: 10,
  });
}

function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), maxReconnectDelayMs);
}
