// A Redis database: the connection, the turns of its units of work, and the commit that makes their writes happen.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Database, Transaction } from '../../contracts/database.ts';
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import { RedisClient, type RedisClientOptions } from './client.ts';
import { commitScript } from './commit-script.ts';
import { Keys } from './keys.ts';
import { Leases } from './leases.ts';
import type { ListDraft } from './list-draft.ts';
import { ListReads } from './list-reads.ts';
import { releases, verifications, writesEverywhere } from './program.ts';
import { pendingSteps } from './schema.ts';
import { Turns } from './turns.ts';
import { RedisUnit, type UnitContents, type UnitHost } from './unit.ts';

export interface RedisDatabaseOptions extends RedisClientOptions {
  readonly clock: Clock;
  /** Text before the names of all keys. Default `coffer:`. */
  readonly prefix?: string | undefined;
}

export const defaultPrefix = 'coffer:';

/**
 * Connects to a database. Storage and permission backends created on the same one share its units of work.
 *
 * @throws BackendUnavailable when there is no server to talk to
 */
export async function openRedisDatabase(options: RedisDatabaseOptions): Promise<RedisDatabase> {
  const database = new RedisDatabase(options);
  await database.client.connect('storage');
  return database;
}

export class RedisDatabase implements Database, UnitHost {
  readonly name = 'redis';
  readonly abilities: Database['abilities'];
  readonly clock: Clock;
  readonly client: RedisClient;
  readonly keys: Keys;
  readonly reads: ListReads;
  readonly turns = new Turns();
  readonly leases: Leases;
  readonly #open = new Set<RedisUnit>();
  readonly #closers: (() => void)[] = [];
  /** Makes the versions of this process differ from those of any other. */
  readonly #mark = randomBytes(9).toString('base64url');
  #commits = 0;
  #closing: Promise<void> | undefined;

  constructor(options: RedisDatabaseOptions) {
    this.clock = options.clock;
    this.client = new RedisClient(options);
    this.keys = new Keys(options.prefix ?? defaultPrefix);
    this.reads = new ListReads(this.client, this.keys);
    this.leases = new Leases(this.reads, this.#mark);
    this.abilities = { rollback: true, durable: true, atomicAcrossParents: !this.client.isCluster };
  }

  async begin(): Promise<Transaction> {
    if (this.#closing !== undefined) throw new BackendUnavailable('storage', 'the Redis database is closed');
    const unit = new RedisUnit(this);
    this.#open.add(unit);
    return unit;
  }

  /** The unit behind a transaction that this database opened. */
  requireUnit(transaction: Transaction): RedisUnit {
    if (transaction instanceof RedisUnit && transaction.belongsTo(this)) return transaction;
    throw new Error('the transaction belongs to another database');
  }

  async commit(contents: UnitContents): Promise<void> {
    const { keys } = this;
    const program = [
      ...verifications(contents, keys),
      'probe',
      `${keys.schema()}!`,
      ...writesEverywhere(contents, keys),
    ];
    try {
      await this.execute([], program, true);
    } catch (error) {
      if (error instanceof TransactionConflict) this.#noteConflict(contents.drafts);
      throw error;
    }
  }

  release(drafts: readonly ListDraft[]): void {
    const program = releases(drafts, this.keys);
    // A lease that cannot be given back ends by itself.
    if (program.length > 0) this.execute([], program, true).catch(() => {});
  }

  ended(unit: RedisUnit): void {
    this.#open.delete(unit);
    if (this.#open.size === 0) for (const close of this.#closers.splice(0)) close();
  }

  initializeSchema({ dryRun }: { readonly dryRun: boolean }): Promise<readonly string[]> {
    return pendingSteps(this.client, this.keys, dryRun);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Runs operations of the commit script. */
  private async execute(tags: readonly string[], program: readonly string[], everywhere: boolean): Promise<void> {
    const version = `${this.#mark}${(this.#commits++).toString(36)}`;
    const args = [this.keys.root, this.clock.now(), version, everywhere ? '1' : '0', this.#mark, ...program];
    const answer = await this.client.run('storage', commitScript, tags, args);
    if (answer !== 'done') throw new TransactionConflict('another process has changed the same list');
  }

  #noteConflict(drafts: readonly ListDraft[]): void {
    for (const { list } of drafts) this.leases.expectContention(list);
    this.release(drafts);
  }

  async #close(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#closers.push(resolve));
    await this.client.close();
  }
}
