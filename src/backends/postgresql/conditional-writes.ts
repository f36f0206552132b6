// Conditional writes, done by functions of the server: one round trip for the lock, the checks, the write and the commit.
// Those that come while others are under way are committed together, whatever their lists, because a commit costs more than
// a write. Such a transaction waits for no lock, so it delays no other and never deadlocks. A list that another transaction
// has locked gets a transaction of its own, which waits. So does a write of a long text, which takes long to store.
import { largeTextChars } from '../../base/json-steps.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import { BackendError, TransactionConflict, UnstorableText } from '../../contracts/errors.ts';
import { keyOfList, type ListName } from '../../core/lists/list-key.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Connection, Statement } from './connection.ts';
import { translateError } from './errors.ts';
import { busy, callsOf, type TimedWrite } from './conditional-write-calls.ts';

const begin: Statement = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' };
const commit: Statement = { text: 'COMMIT' };

/** Maximum number of writes in one transaction, so that none waits for long. */
const maxGroup = 100;
/** Number of transactions under way at the same time: one is executed while the other is flushed. */
const maxLanes = 2;
/** Longest time that writes wait for a transaction to end before another one begins. */
const patienceMs = 10;

interface Waiting extends TimedWrite {
  /** Key of the list. */
  readonly list: ListName;
  readonly resolve: (timestamp: number | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class ConditionalWrites {
  readonly #pool: ConnectionPool;
  /** Writes for the next free lane. */
  #waiting: Waiting[] = [];
  #lanes = 0;
  /** Number of writes in lanes that began less than `patienceMs` ago. */
  #underWay = 0;
  /** Lists that a lane writes to. Another lane would find them locked. */
  readonly #inLanes = new Set<ListName>();
  #isStarting = false;
  /** Lists that have a transaction of their own, with the writes that wait for it. */
  readonly #queues = new Map<ListName, Waiting[]>();

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** Does what `Database.writeConditionally` promises. */
  write(write: ConditionalWrite, now: number): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const own = { list: keyOfList(write.list), write, now, resolve, reject };
      const queue = this.#queues.get(own.list);
      if (queue !== undefined) queue.push(own);
      else if (write.text !== undefined && write.text.length >= largeTextChars) this.#queue(own);
      else {
        this.#waiting.push(own);
        this.#startLanes();
      }
    });
  }

  /** Starts lanes at the end of this turn of the event loop, so that all writes of the turn go together. */
  #startLanes(): void {
    if (this.#isStarting || !this.#mayStart()) return;
    this.#isStarting = true;
    setImmediate(() => {
      this.#isStarting = false;
      while (this.#mayStart()) {
        const group = this.#takeGroup();
        if (group.length === 0) return;
        void this.#runLane(group);
      }
    });
  }

  /**
   * A transaction costs as much as several writes. So a second one begins only for at least half as many writes as the first
   * one has. When the first one ends, another one takes all waiting writes.
   */
  #mayStart(): boolean {
    return this.#lanes < maxLanes && this.#waiting.length * 2 >= this.#underWay;
  }

  #takeGroup(): readonly Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    for (const write of this.#waiting) {
      const fits = group.length < maxGroup && !this.#inLanes.has(write.list);
      (fits ? group : left).push(write);
    }
    this.#waiting = left;
    return group;
  }

  /** Does writes to any lists, without waiting for locks. Never fails. */
  async #runLane(group: readonly Waiting[]): Promise<void> {
    this.#lanes++;
    this.#underWay += group.length;
    for (const { list } of group) this.#inLanes.add(list);
    let isCounted = true;
    const discount = (): void => {
      if (isCounted) this.#underWay -= group.length;
      isCounted = false;
      this.#startLanes();
    };
    const timer = setTimeout(discount, patienceMs);
    for (const write of await this.#run(group, { isPatient: false })) this.#queue(write);
    clearTimeout(timer);
    for (const { list } of group) this.#inLanes.delete(list);
    this.#lanes--;
    discount();
  }

  #queue(write: Waiting): void {
    const queue = this.#queues.get(write.list);
    if (queue !== undefined) queue.push(write);
    else {
      this.#queues.set(write.list, []);
      void this.#runQueue(write);
    }
  }

  /** Waits for the list and does the first write, then those that have come meanwhile, until none waits. Never fails. */
  async #runQueue(first: Waiting): Promise<void> {
    const queue = this.#queues.get(first.list)!;
    for (let group = [first]; group.length > 0; group = queue.splice(0, maxGroup)) {
      await this.#run(group, { isPatient: true });
    }
    this.#queues.delete(first.list);
  }

  /** Does writes in one transaction. Returns those whose list is locked. Never fails. */
  async #run(group: readonly Waiting[], { isPatient }: { readonly isPatient: boolean }): Promise<readonly Waiting[]> {
    let connection: Connection | undefined;
    try {
      connection = await this.#pool.takeForUnit();
      const stamps = await this.#send(connection, group, isPatient);
      for (const [index, { resolve }] of group.entries()) if (stamps[index] !== busy) resolve(stamps[index]);
      return group.filter((_, index) => stamps[index] === busy);
    } catch (error) {
      const failure = translateError(error, 'storage', this.#pool.place);
      // Each write is retried by itself, so that none fails because of another.
      const isOfOne = !(failure instanceof BackendError) || failure instanceof UnstorableText;
      const isRolledBack = group.length > 1 && isOfOne;
      const reported = isRolledBack ? new TransactionConflict(failure.message, { cause: failure }) : failure;
      for (const { reject } of group) reject(reported);
      return [];
    } finally {
      connection?.release();
    }
  }

  /** Sends everything at once. A single statement is a transaction of its own. */
  async #send(
    connection: Connection,
    group: readonly TimedWrite[],
    isPatient: boolean,
  ): Promise<readonly (number | undefined)[]> {
    const { opening } = this.#pool;
    const calls = callsOf(group, isPatient);
    const isOneStatement = calls.length === 1 && opening === undefined;
    const before = isOneStatement ? [] : opening === undefined ? [begin] : [begin, opening];
    const after = isOneStatement ? [] : [commit];
    const results = await Promise.allSettled([
      ...before.map((statement) => connection.run(statement)),
      ...calls.map(({ statement, values }) => connection.run(statement, values)),
      ...after.map((statement) => connection.run(statement)),
    ]);
    const all = results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
    if (!isOneStatement && all.at(-1)!.command !== 'COMMIT') {
      throw new TransactionConflict('PostgreSQL rolled the transaction back');
    }
    const stamps: (number | undefined)[] = [];
    for (const [number, { read }] of calls.entries()) {
      read(all[before.length + number]!, (index, stamp) => (stamps[index] = stamp));
    }
    return stamps;
  }
}
