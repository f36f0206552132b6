// A Redis database: the client, the queues of its units of work, and the commit of their writes.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { ChangeHints } from '../../contracts/change-hints.ts';
import type { Database, Transaction } from '../../contracts/database.ts';
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { PoolState } from '../../contracts/observer.ts';
import { createSmallLists, type SmallLists } from '../../core/lists/small-lists.ts';
import { SharedHints } from '../hints/shared-hints.ts';
import { defaultTimeoutSeconds, RedisClient, type RedisClientOptions } from './client.ts';
import { changedAbove, ClusterCommit } from './cluster-commit.ts';
import { commitScript } from './commit-script.ts';
import { SharedLocks } from './shared-locks.ts';
import { Keys } from './keys.ts';
import { Leases } from './leases.ts';
import type { ListOverlay } from './list-overlay.ts';
import { ListReads } from './list-reads.ts';
import { verifications, writesEverywhere, type Outcome, type SlotProgram } from './program.ts';
import { ofOneScript } from './errors.ts';
import { bringUpToDate, findEviction } from './schema.ts';
import { ListQueue } from './list-queue.ts';
import { compareLocks } from './lock-order.ts';
import { LockWaits } from './lock-waits.ts';
import { PublishTransport } from './publish-transport.ts';
import { RedisUnit, type UnitContents, type UnitHost } from './unit.ts';

export interface RedisDatabaseOptions extends RedisClientOptions {
  readonly clock: Clock;
  /** Prefix of the names of all keys. Default `coffer:`. */
  readonly prefix?: string | undefined;
  /** Approximate size of the cache of small lists in bytes; 0: none. */
  readonly cacheBytes?: number | undefined;
}

export const defaultPrefix = 'coffer:';

/**
 * Opens a database. Storage and permission backends created on the same one share its units of work.
 *
 * @throws BackendUnavailable when no server responds
 */
export async function openRedisDatabase(options: RedisDatabaseOptions): Promise<RedisDatabase> {
  const database = new RedisDatabase(options);
  await database.client.connect('storage');
  return database;
}

export class RedisDatabase implements Database, UnitHost {
  readonly name = 'redis';
  readonly isRemote = true;
  readonly compareLocks = compareLocks;
  readonly abilities: Database['abilities'];
  readonly clock: Clock;
  readonly client: RedisClient;
  readonly keys: Keys;
  readonly reads: ListReads;
  readonly queue: ListQueue;
  readonly sharedLocks: SharedLocks;
  readonly leases: Leases;
  readonly smallLists: SmallLists | undefined;
  readonly #cluster: ClusterCommit | undefined;
  readonly #open = new Set<RedisUnit>();
  readonly #closers: (() => void)[] = [];
  /** Distinguishes the versions of this process from those of others. */
  readonly #mark = randomBytes(9).toString('base64url');
  #commits = 0;
  /** Whether the database has an older layout. */
  #isOlder = false;
  #closing: Promise<void> | undefined;

  constructor(options: RedisDatabaseOptions) {
    const waits = new LockWaits((options.timeoutSeconds ?? defaultTimeoutSeconds) * 1000);
    this.queue = new ListQueue(waits);
    this.sharedLocks = new SharedLocks(waits);
    this.clock = options.clock;
    this.client = new RedisClient(options);
    this.keys = new Keys(options.prefix ?? defaultPrefix);
    this.reads = new ListReads(this.client, this.keys);
    this.leases = new Leases(this.reads, this.#mark);
    this.smallLists = createSmallLists(options.cacheBytes);
    this.#cluster = this.client.isCluster
      ? new ClusterCommit(this.client, this.keys, (...args) => this.#execute(...args))
      : undefined;
    this.abilities = { rollback: true, durable: true, atomicAcrossParents: !this.client.isCluster, textSearch: false };
  }

  readonly poolState = (): PoolState => this.client.poolState;
  readonly openHints = ({ logger }: { readonly logger: Logger }): ChangeHints =>
    new SharedHints(new PublishTransport(this.client, this.keys.channel(this.client.db)), logger);

  async begin(): Promise<Transaction> {
    return this.beginUnit();
  }

  /** @throws BackendUnavailable */
  beginUnit(): RedisUnit {
    if (this.#closing !== undefined) throw new BackendUnavailable('storage', 'the Redis database is closed');
    const unit = new RedisUnit(this);
    this.#open.add(unit);
    return unit;
  }

  /** Returns the unit behind a transaction that this database opened. */
  requireUnit(transaction: Transaction): RedisUnit {
    if (transaction instanceof RedisUnit && transaction.belongsTo(this)) return transaction;
    throw new Error('the transaction belongs to another database');
  }

  get sendsAtOnce(): boolean {
    return !this.client.isCluster;
  }

  async commit(contents: UnitContents): Promise<void> {
    try {
      if (this.#cluster === undefined) await this.#commitEverywhere(contents);
      else this.release(await this.#cluster.run(contents, this.#nextVersion()), true);
    } catch (error) {
      // The commit on a cluster takes leases on its own.
      this.release(contents.overlays, this.client.isCluster);
      if (!(error instanceof TransactionConflict)) throw this.client.isCluster ? error : ofOneScript(error);
      const lists = [...contents.overlays.map(({ list }) => list), ...error.lists];
      for (const list of lists) this.leases.expectContention(list);
      throw new TransactionConflict(error.message, { cause: error, lists });
    }
  }

  release(overlays: readonly ListOverlay[], isHeld = false): void {
    for (const { list, isLeased } of overlays) {
      if (!isLeased && !isHeld) continue;
      // A lease that cannot be released expires.
      const [lease] = this.keys.lease(list);
      this.leases.ended(list);
      this.#execute({ operations: ['release', lease], keys: [lease] }, '').catch(() => {});
    }
  }

  ended(unit: RedisUnit): void {
    this.#open.delete(unit);
    if (this.#open.size === 0) for (const close of this.#closers.splice(0)) close();
  }

  /** The first start marks an empty database. Other processes may still use an older layout. */
  get needsMigration(): boolean {
    return this.#isOlder;
  }

  /** The policy of a running server can change. */
  findDamage(): Promise<BackendUnavailable | undefined> {
    return findEviction(this.client);
  }

  async initializeSchema({ dryRun }: { readonly dryRun: boolean }): Promise<readonly string[]> {
    const { lines, isOlder } = await bringUpToDate(this.client, this.keys, dryRun);
    this.#isOlder = isOlder && dryRun;
    return lines;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Commits with one script: the server has every slot. */
  async #commitEverywhere(contents: UnitContents): Promise<void> {
    const { keys } = this;
    const probed = keys.probe();
    const operations = verifications(contents, keys).concat('probe', probed, writesEverywhere(contents, keys));
    const outcome = await this.#execute({ operations, keys: [probed] }, this.#nextVersion());
    if (outcome === 'changed') throw changedAbove(contents);
    if (outcome === 'conflict') throw new TransactionConflict('another process has changed the same list');
  }

  /** Runs operations of the commit script. */
  async #execute({ operations, keys }: SlotProgram, version: string): Promise<Outcome> {
    const everywhere = this.client.isCluster ? '0' : '1';
    const args = [this.keys.root, this.clock.now(), version, everywhere, this.#mark, ...operations];
    return (await this.client.run('storage', commitScript, keys, args)) as Outcome;
  }

  #nextVersion(): string {
    return `${this.#mark}${(this.#commits++).toString(36)}`;
  }

  async #close(): Promise<void> {
    if (this.#open.size > 0) {
      await new Promise<void>((resolve) => {
        this.#closers.push(resolve);
      });
    }
    await this.client.close();
  }
}
